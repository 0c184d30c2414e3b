/** A place in a text; both numbers start at 1. */
export interface TextPlace {
  readonly line: number;
  readonly column: number;
}

/**
 * Where in a JSON text the value at a path starts, or the closest ancestor that is there. With
 * `atKey`, where the key starts that the path ends with. The text must be JSON.
 */
export function placeInJson(
  text: string,
  path: readonly (string | number)[],
  atKey = false,
): TextPlace {
  let found = skipSpace(text, text.startsWith('\uFEFF') ? 1 : 0);
  for (const [index, step] of path.entries()) {
    const member = memberOf(text, found, step);
    if (member === undefined) break;
    found = atKey && index === path.length - 1 ? member.key : member.value;
  }
  return placeAt(text, found);
}

interface Member {
  readonly key: number;
  readonly value: number;
}

/** Where the member of that name or number is, of the object or list that starts at `start`. */
function memberOf(text: string, start: number, step: string | number): Member | undefined {
  const isList = text[start] === '[';
  if (isList !== (typeof step === 'number') || (!isList && text[start] !== '{')) return undefined;
  let found: Member | undefined;
  let at = skipSpace(text, start + 1);
  for (let index = 0; text[at] !== ']' && text[at] !== '}'; index++) {
    const keyEnd = isList ? at : endOfString(text, at);
    const value = isList ? at : skipSpace(text, skipSpace(text, keyEnd) + 1);
    const name = isList ? index : (JSON.parse(text.slice(at, keyEnd)) as string);
    // Of equal keys the last one counts.
    if (name === step) found = { key: at, value };
    at = skipSpace(text, endOfValue(text, value));
    if (text[at] === ',') at = skipSpace(text, at + 1);
  }
  return found;
}

/** Not by recursion: lists can be nested as deep as the text is long. */
function endOfValue(text: string, start: number): number {
  let depth = 0;
  for (let at = start; at < text.length;) {
    const char = text[at]!;
    if (depth === 0 && at > start && /[\s,\]}]/.test(char)) return at;
    if (char === '"') at = endOfString(text, at);
    else {
      if (char === '[' || char === '{') depth++;
      if (char === ']' || char === '}') depth--;
      at++;
    }
    if (depth === 0 && /["\]}]/.test(char)) return at;
  }
  return text.length;
}

function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  return at + 1;
}

function skipSpace(text: string, start: number): number {
  let at = start;
  while (at < text.length && /\s/.test(text[at]!)) at++;
  return at;
}

function placeAt(text: string, offset: number): TextPlace {
  const lines = text.slice(0, offset).split('\n');
  return { line: lines.length, column: lines.at(-1)!.length + 1 };
}
