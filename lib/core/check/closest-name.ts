/** Longer names are not compared: the work grows with the product of the lengths. */
const MAX_LENGTH = 64;
/** Edits, per letter of the name, up to which one name is taken for another. */
const MAX_EDITS_PER_LETTER = 0.4;

/** The known name that was probably meant; undefined when none is close. */
export function closestName(name: string, known: readonly string[]): string | undefined {
  if (name.length > MAX_LENGTH) return undefined;
  const wanted = bare(name);
  let closest: string | undefined;
  let fewest = Math.floor(MAX_EDITS_PER_LETTER * wanted.length) + 1;
  for (const one of known) {
    const edits = editsBetween(wanted, bare(one));
    if (edits >= fewest) continue;
    fewest = edits;
    closest = one;
  }
  return closest;
}

/** "requests_per_second" and "RequestsPerSecond" are the same name. */
function bare(name: string): string {
  return name.replaceAll(/[^a-z\d]/gi, '').toLowerCase();
}

/** Letters to insert, delete or replace to make one of the other (Levenshtein). */
function editsBetween(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let i = 1; i <= one.length; i++) {
    const next = [i];
    for (let j = 1; j <= other.length; j++) {
      const replaced = row[j - 1]! + (one[i - 1] === other[j - 1] ? 0 : 1);
      next.push(Math.min(row[j]! + 1, next[j - 1]! + 1, replaced));
    }
    row = next;
  }
  return row[other.length]!;
}
