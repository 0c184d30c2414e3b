import { MissingKeyException } from '../missing-key.exception.js';
import { RateLimitExceededException } from '../rate-limit-exceeded.exception.js';
import { RateLimitUnavailableException } from '../rate-limit-unavailable.exception.js';

/** Why a request may not go on, as HTTP says it. */
export type Refusal =
  RateLimitExceededException | RateLimitUnavailableException | MissingKeyException;

/** What a refused caller is told where there is no HTTP. */
export interface RefusalPayload {
  /** What kind of refusal it is. */
  readonly code: 'RATE_LIMITED' | 'RATE_LIMIT_UNAVAILABLE' | 'MISSING_KEY';
  /** Why, in words. */
  readonly message: string;
  /** The plans that said no. */
  readonly plans?: readonly string[];
  /** Milliseconds after which the same is allowed; null never. */
  readonly retryAfterMs?: number | null;
}

export function isRefusal(error: unknown): error is Refusal {
  return (
    error instanceof RateLimitExceededException ||
    error instanceof RateLimitUnavailableException ||
    error instanceof MissingKeyException
  );
}

/** The same answer in all transports. */
export function payloadOf(refusal: Refusal): RefusalPayload {
  const { message } = refusal;
  if (refusal instanceof RateLimitExceededException) {
    const { plans, result } = refusal;
    return { code: 'RATE_LIMITED', message, plans, retryAfterMs: result.retryAfterMs };
  }
  const isUnavailable = refusal instanceof RateLimitUnavailableException;
  return { code: isUnavailable ? 'RATE_LIMIT_UNAVAILABLE' : 'MISSING_KEY', message };
}
