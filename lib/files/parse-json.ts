import { quote, RateLimitError } from '../core/errors.js';

/** How V8 starts the one message that tells no position. */
const UNEXPECTED_TOKEN = 'Unexpected token';

/**
 * What a JSON text says. Throws a `RateLimitError` that names the line and the column where the text
 * stops being JSON; the name of the file has to be put before.
 */
export function parseJson(text: string): unknown {
  // Some editors start a file with a byte order mark.
  const json = text.startsWith('\uFEFF') ? text.slice(1) : text;
  try {
    return JSON.parse(json);
  } catch (error) {
    const { message } = error as SyntaxError;
    throw new RateLimitError('INVALID_OPTION', notJson(json, positionIn(json, message)));
  }
}

function notJson(json: string, position: number): string {
  const lines = json.slice(0, position).split('\n');
  const place = `line ${lines.length}, column ${lines.at(-1)!.length + 1}`;
  const rest = json.slice(position, position + 20);
  return `is not JSON at ${place}, ${rest === '' ? 'where it ends' : `at ${quote(rest)}`}.`;
}

/** Where the text stops being JSON: what the engine says, or the end, or at the unexpected token. */
function positionIn(json: string, message: string): number {
  const told = /at position (\d+)/.exec(message)?.[1];
  if (told !== undefined) return Number(told);
  return message.startsWith(UNEXPECTED_TOKEN) ? unexpectedTokenIn(json) : json.length;
}

/** The engine does not tell where, but a text that ends before the token has another problem. */
function unexpectedTokenIn(json: string): number {
  let fine = 0;
  let bad = json.length;
  while (bad - fine > 1) {
    const middle = (fine + bad) >>> 1;
    if (hasUnexpectedToken(json.slice(0, middle))) bad = middle;
    else fine = middle;
  }
  return bad - 1;
}

function hasUnexpectedToken(json: string): boolean {
  try {
    JSON.parse(json);
    return false;
  } catch (error) {
    return (error as SyntaxError).message.startsWith(UNEXPECTED_TOKEN);
  }
}
