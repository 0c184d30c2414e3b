import type { AdaptiveThrottler } from './adaptive-throttler.js';
import { classifyError } from './classify-error.js';
import type { Classifier } from './classifiers.js';
import type { ResponseSource } from './classify-response.js';
import type { Permit } from './permit.js';
import { headerOf } from './response-headers.js';
import { parseRetryAfter } from './retry-after.js';
import { upstreamLimitOf } from './upstream-limit.js';

/** What telling the throttler about a call hangs on. */
export interface ReportParts {
  readonly throttler: AdaptiveThrottler;
  readonly classify: Classifier;
  /** Whether to pause when a domain says that nothing is left, before it blocks. */
  readonly heedsUpstreamLimits: boolean;
  /** The time of day, which dates in headers are compared with. */
  readonly timeMs: () => number;
}

/** Tells the throttler what a response says: that it is a block, how long to pause, or success. */
export async function reportResponse(
  parts: ReportParts,
  domain: string,
  response: ResponseSource,
  permit: Permit,
): Promise<void> {
  const { throttler, classify, heedsUpstreamLimits, timeMs } = parts;
  const { status, headers } = response;
  const type = classify(response);
  const isRefusal = status === 429 || status === 503;
  const askedMs = isRefusal
    ? parseRetryAfter(headerOf(headers, 'retry-after'), timeMs())
    : undefined;
  const limit = heedsUpstreamLimits ? upstreamLimitOf(headers, timeMs()) : undefined;
  const emptyMs = limit?.remaining === 0 ? limit.resetMs : undefined;
  if (type === undefined && askedMs === undefined) {
    await throttler.recordSuccess(domain, { permit });
    if (emptyMs !== undefined) await throttler.pause(domain, emptyMs);
    return;
  }
  const retryAfterMs = askedMs ?? emptyMs ?? 0;
  await throttler.recordBlock(domain, type ?? 'unavailable', { permit, retryAfterMs });
}

/** Tells the throttler of a call that got lost, or that it says nothing: the caller gave it up. */
export async function reportFailure(
  { throttler }: ReportParts,
  domain: string,
  error: unknown,
  permit: Permit,
): Promise<void> {
  const type = classifyError(error);
  if (type) await throttler.recordBlock(domain, type, { permit });
  else await throttler.giveUp(domain, permit);
}

/** Waits for what is done about a call: if that fails, the caller still gets what it called for. */
export async function quietly(work: Promise<void>): Promise<void> {
  try {
    await work;
  } catch {
    // Stores tell of their failures themselves; what was not told now, the next call may tell.
  }
}
