/** Bytes above ASCII, as escapes in upper case. */
const HIGH_ESCAPES = /(?:%[89A-F][\dA-F])+/g;

/**
 * Folds the letter case of a path in a form that `readPath` returns: two paths that differ in nothing
 * else become equal. Letters beyond ASCII are folded as well, since some servers lower-case a path
 * after they have decoded it: `%E2%84%AA`, the Kelvin sign, is a `k` for them.
 */
export function foldCase(path: string): string {
  const folded = path.includes('%') ? path.replace(HIGH_ESCAPES, foldEscapes) : path;
  return folded.toLowerCase();
}

/** Lower case first: some letters have the same lower case, but not the same upper case. */
function foldEscapes(escapes: string): string {
  try {
    return encodeURIComponent(decodeURIComponent(escapes).toLowerCase().toUpperCase());
  } catch {
    // Not UTF-8, so there are no letters in it.
    return escapes;
  }
}
