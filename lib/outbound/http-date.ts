const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const DAY = '(?:mon|tue|wed|thu|fri|sat|sun)';
const LONG_DAY = '(?:mon|tues|wednes|thurs|fri|satur|sun)day';
const MONTH = `(?<month>${MONTHS.join('|')})`;
const TIME = String.raw`(?<hour>\d\d):(?<minute>\d\d):(?<second>\d\d)`;

/** The three forms of RFC 9110, section 5.6.7: today's, that of RFC 850, and that of asctime. */
const FORMS = [
  String.raw`^${DAY}, (?<day>\d\d) ${MONTH} (?<year>\d{4}) ${TIME} GMT$`,
  String.raw`^${LONG_DAY}, (?<day>\d\d)-${MONTH}-(?<year>\d\d) ${TIME} GMT$`,
  String.raw`^${DAY} ${MONTH} (?<day>[ \d]\d) ${TIME} (?<year>\d{4})$`,
].map((form) => new RegExp(form, 'i'));

/**
 * The moment that an HTTP date names, in milliseconds; undefined for what is none, such as a 30th of
 * February. Servers get weekdays wrong, so they are not compared.
 */
export function parseHttpDate(text: string, nowMs: number): number | undefined {
  for (const form of FORMS) {
    const fields = form.exec(text)?.groups;
    if (fields) return momentOf(fields, nowMs);
  }
  return undefined;
}

function momentOf(fields: Record<string, string | undefined>, nowMs: number): number | undefined {
  const month = MONTHS.indexOf(fields['month']!.toLowerCase());
  const [day, hour, minute, second] = ['day', 'hour', 'minute', 'second'].map((name) =>
    Number(fields[name]),
  ) as [number, number, number, number];
  // 60 is a leap second.
  if (hour > 23 || minute > 59 || second > 60) return undefined;
  const date = new Date(0);
  // Not Date.UTC, which takes the year 50 for 1950.
  date.setUTCFullYear(fullYear(fields['year']!, nowMs), month, day);
  if (date.getUTCDate() !== day) return undefined;
  return date.setUTCHours(hour, minute, second);
}

/** Two digits that would be more than 50 years ahead are of the century before. */
function fullYear(digits: string, nowMs: number): number {
  if (digits.length === 4) return Number(digits);
  const thisYear = new Date(nowMs).getUTCFullYear();
  const year = thisYear - (thisYear % 100) + Number(digits);
  return year > thisYear + 50 ? year - 100 : year;
}
