import type { Mistake } from '../core/check/mistake.js';
import { UnknownField } from '../core/check/mistake.js';
import type { Path } from '../core/check/path.js';
import { RateLimitError } from '../core/errors.js';
import { placeInJson } from './json-place.js';

/** A problem of which the place in a file is known, but not yet the name of the file. */
export class PlacedError extends RateLimitError {
  constructor(
    message: string,
    /** Line and column, in words. */
    readonly place: string,
    path?: Path,
  ) {
    super('INVALID_OPTION', message, path);
  }
}

/** Where in a text the value at a path starts; with `atKey`, where its key does. */
export type FindPlace = (path: Path, atKey: boolean) => string;

/** The error for what is wrong with the content of a file. */
export function placedError(mistake: Mistake, whole: string, find: FindPlace): PlacedError {
  const place = find(mistake.path, mistake instanceof UnknownField);
  return new PlacedError(mistake.sentence(whole), place, mistake.path);
}

/** Finds places in a JSON text. */
export function inJson(json: string): FindPlace {
  return (path, atKey) => {
    const { line, column } = placeInJson(json, path, atKey);
    return `line ${line}, column ${column}`;
  };
}
