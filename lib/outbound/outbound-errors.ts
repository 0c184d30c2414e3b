import { RateLimitError } from '../core/errors.js';

/** The turn would come, or came, too late. Nothing was spent. */
export class WaitTimedOutError extends RateLimitError {
  override readonly name = 'WaitTimedOutError';

  constructor(
    /** The host that was to be called. */
    readonly domain: string,
    /** Milliseconds that the wait would have taken, as far as it is known. */
    readonly waitMs: number,
  ) {
    super(
      'WAIT_TIMED_OUT',
      `The turn for ${domain} would come in ${waitMs} ms, which is later than timeoutMs allows.`,
    );
  }
}

/**
 * The signal was aborted, or the application is shutting down; the reason is the `cause`. What had
 * been booked was given back.
 */
export class WaitAbortedError extends RateLimitError {
  override readonly name = 'WaitAbortedError';

  constructor(
    /** The host that was to be called. */
    readonly domain: string,
    reason: unknown,
  ) {
    super('WAIT_ABORTED', `The wait for ${domain} was aborted.`);
    this.cause = reason;
  }
}

/** More tokens than the domain's burst holds: no wait would ever be long enough. */
export class CostExceedsBurstError extends RateLimitError {
  override readonly name = 'CostExceedsBurstError';

  constructor(
    /** The host that was to be called. */
    readonly domain: string,
    /** What was asked for. */
    readonly tokens: number,
    /** What the domain gives at most. */
    readonly burstCapacity: number,
  ) {
    super(
      'COST_EXCEEDS_BURST',
      `${tokens} tokens can never be had for ${domain}, whose burstCapacity is ${burstCapacity}. ` +
        'Ask for fewer at a time, or raise it.',
    );
  }
}

/** The domain's rule lets nothing pass. */
export class OutboundDeniedError extends RateLimitError {
  override readonly name = 'OutboundDeniedError';

  constructor(
    /** The host that was to be called. */
    readonly domain: string,
  ) {
    super('OUTBOUND_DENIED', `Calls to ${domain} are switched off: its maxConcurrent is 0.`);
  }
}

/** The store does not answer, and the domain's calls are not made without it (`closed`). */
export class OutboundUnavailableError extends RateLimitError {
  override readonly name = 'OutboundUnavailableError';

  constructor(
    /** The host that was to be called. */
    readonly domain: string,
  ) {
    super(
      'OUTBOUND_UNAVAILABLE',
      `Calls to ${domain} cannot be limited now, because the store does not answer.`,
    );
  }
}

/** Nothing has been sent to this domain, or it was so long ago that it is forgotten. */
export class UnknownDomainError extends RateLimitError {
  override readonly name = 'UnknownDomainError';

  constructor(
    /** The host that was to be called. */
    readonly domain: string,
  ) {
    super('UNKNOWN_DOMAIN', `There are no statistics of ${domain}: nothing was sent to it yet.`);
  }
}
