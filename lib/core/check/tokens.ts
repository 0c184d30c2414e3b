import { InvalidTokensError } from '../errors.js';

/** Refuses a number of tokens that cannot be charged. Runs once per decision: it allocates nothing. */
export function checkTokens(tokens: unknown): void {
  if (!Number.isSafeInteger(tokens) || (tokens as number) < 1) throw new InvalidTokensError(tokens);
}
