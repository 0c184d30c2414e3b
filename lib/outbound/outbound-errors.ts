import { RateLimitError } from '../core/errors.js';

/**
 * What a wait was too long for: its turn (`rate`), a pause of the domain (`cooldown`), a slot of
 * `maxConcurrent` (`concurrency`), or the answer of the store or this process, which was busy (`lag`).
 */
export type WaitTimeoutReason = 'rate' | 'cooldown' | 'concurrency' | 'lag';

const TIMEOUT_MESSAGES: Record<WaitTimeoutReason, (domain: string) => string> = {
  rate: (domain) => `There is no turn for ${domain} within timeoutMs.`,
  cooldown: (domain) => `Calls to ${domain} pause for longer than timeoutMs.`,
  concurrency: (domain) =>
    `All slots of ${domain} (maxConcurrent) are taken for longer than timeoutMs.`,
  lag: (domain) =>
    `The turn for ${domain} could not be given within timeoutMs: the store did not answer in time, ` +
    'or this process was busy.',
};

/** The turn would come, or came, later than `timeoutMs`. Nothing was spent. */
export class WaitTimedOutError extends RateLimitError {
  override readonly name = 'WaitTimedOutError';

  constructor(
    /** The host that was to be called. */
    readonly domain: string,
    /** What the wait was too long for. */
    readonly reason: WaitTimeoutReason,
    /**
     * Milliseconds after which it is worth trying again: until the turn that there would have been, or
     * the end of the pause. For a slot, estimated by how long slots were held lately. Undefined when
     * nothing is known.
     */
    readonly retryAfterMs: number | undefined,
  ) {
    const hint = retryAfterMs === undefined ? '' : ` Try again in ${retryAfterMs} ms.`;
    super('WAIT_TIMED_OUT', TIMEOUT_MESSAGES[reason](domain) + hint);
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
