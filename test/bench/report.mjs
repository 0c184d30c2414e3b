// Collects what was compared, and prints it as one table or as JSON.
import { median, ratio } from './rounds.mjs';

/** A ratio that should be that high, or higher. */
export const atLeast = (value) => ({ sign: '>=', value, isMetBy: (ratio) => ratio >= value });

/** A ratio that should be that low, or lower: where the unit is time, memory or work. */
export const atMost = (value) => ({ sign: '<=', value, isMetBy: (ratio) => ratio <= value });

export class Report {
  #rows = [];
  #quiet;

  constructor({ quiet }) {
    this.#quiet = quiet;
  }

  /** What was compared so far. */
  get rows() {
    return this.#rows;
  }

  progress(text) {
    if (!this.#quiet) process.stderr.write(`\r\x1b[K${text}`);
  }

  /** Tells the rounds of a race as they come. */
  rounds(what) {
    return (round, rounds) => this.progress(`${what}: round ${round} of ${rounds}`);
  }

  /** Compares two contestants of a race by one field of their samples, round by round. */
  compare(measure, samples, [one, other], { field = 'perSecond', unit = '/s', target } = {}) {
    const { median: value, lowest, highest } = ratio(samples, one, other, field);
    const middle = (name) => median(samples[name].map((sample) => sample[field]));
    this.add({
      measure,
      unit,
      ours: middle(one),
      other: middle(other),
      ratio: value,
      spread: [lowest, highest],
      target,
    });
  }

  add({ target, ...row }) {
    const verdict = target && {
      target: `${target.sign} ${target.value}`,
      met: target.isMetBy(row.ratio),
    };
    this.#rows.push({ ...row, ...verdict });
  }

  print({ asJson }) {
    this.progress('');
    if (asJson) console.log(JSON.stringify(this.#rows, null, 2));
    else console.table(this.#rows.map(asTableRow));
  }
}

function asTableRow({ measure, unit, ours, other, ratio, spread, target, met }) {
  return {
    measure,
    unit,
    ours: short(ours),
    other: short(other),
    ratio: ratio.toFixed(2),
    'lowest-highest': spread?.map((value) => value.toFixed(2)).join('-') ?? '',
    target: target ?? '',
    met: met === undefined ? '' : met ? 'yes' : 'no',
  };
}

/** Rates in whole numbers, microseconds with what matters behind the point. */
function short(value) {
  return value >= 100 ? Math.round(value) : Number(value.toPrecision(3));
}
