import { readFileSync } from 'node:fs';

/** A response as it went over the wire, from `responses/<name>.http`. */
export interface RecordedResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
}

/** Reads a recorded response: status line, headers, an empty line, the body. */
export function readRecorded(name: string): RecordedResponse {
  const text = readFileSync(new URL(`responses/${name}.http`, import.meta.url), 'latin1');
  const endOfHead = text.indexOf('\n\n');
  const [statusLine = '', ...lines] = text.slice(0, endOfHead).split('\n');
  const headers = lines.map((line): [string, string] => {
    const colon = line.indexOf(':');
    return [line.slice(0, colon), line.slice(colon + 1)];
  });
  return {
    status: Number(statusLine.split(' ')[1]),
    headers: new Headers(headers),
    body: text.slice(endOfHead + 2),
  };
}
