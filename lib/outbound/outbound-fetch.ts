import type { AdaptiveThrottler } from './adaptive-throttler.js';
import { classifyError } from './classify-error.js';
import type { Classifier } from './classifiers.js';
import { mayNeedBody } from './classify-response.js';
import { PAGE_CHARS } from './html-page.js';
import type { Permit } from './permit.js';
import { parseRetryAfter } from './retry-after.js';
import { upstreamLimitOf } from './upstream-limit.js';
import type { WaitOptions, Waits } from './wait-options.js';

/** What fetching hangs on. */
export interface OutboundFetchParts {
  readonly throttler: AdaptiveThrottler;
  readonly fetch: typeof globalThis.fetch;
  readonly classify: Classifier;
  /** Whether users' classifiers want to see the body of every response. */
  readonly readsBodies: boolean;
  /** Whether to pause when a domain says that nothing is left, before it blocks. */
  readonly heedsUpstreamLimits: boolean;
  readonly timeMs: () => number;
}

/** Waits, calls, looks at what came back and tells the throttler. */
export class OutboundFetch {
  constructor(private readonly parts: OutboundFetchParts) {}

  async fetch(
    limiter: Waits,
    input: string | URL | Request,
    { tokens, timeoutMs, ...init }: RequestInit & WaitOptions,
  ): Promise<Response> {
    const request = input instanceof Request ? input : undefined;
    const domain = new URL(request ? request.url : input).hostname;
    const signal = init.signal ?? request?.signal;
    const permit = await limiter.wait(domain, { tokens, timeoutMs, signal });
    try {
      const response = await this.parts.fetch(input, init);
      await this.#record(domain, response, init.method ?? request?.method ?? 'GET', permit);
      return response;
    } catch (error) {
      const type = classifyError(error);
      if (type) await this.parts.throttler.recordBlock(domain, type, { permit });
      throw error;
    } finally {
      await permit.release();
    }
  }

  async #record(domain: string, response: Response, method: string, permit: Permit): Promise<void> {
    const { throttler, classify, readsBodies, timeMs } = this.parts;
    const { status, headers } = response;
    const head = { status, headers, method };
    const body = readsBodies || mayNeedBody(head) ? await beginningOf(response) : undefined;
    const type = classify(body === undefined ? head : { ...head, body });
    const pauseMs = parseRetryAfter(headers.get('retry-after'), timeMs());
    const isPause = pauseMs !== undefined && (status === 429 || status === 503);
    if (type !== undefined || isPause) {
      const retryAfter = isPause ? { retryAfterMs: pauseMs } : {};
      await throttler.recordBlock(domain, type ?? 'unavailable', { permit, ...retryAfter });
      return;
    }
    await throttler.recordSuccess(domain, { permit });
    await this.#heedLimit(domain, headers);
  }

  async #heedLimit(domain: string, headers: Headers): Promise<void> {
    if (!this.parts.heedsUpstreamLimits) return;
    const limit = upstreamLimitOf(headers, this.parts.timeMs());
    if (limit?.remaining !== 0) return;
    await this.parts.throttler.pause(domain, limit.resetMs);
  }
}

/** The beginning of the body as text, read from a copy; the response stays as it was. */
async function beginningOf(response: Response): Promise<string | undefined> {
  if (response.bodyUsed || !response.body) return '';
  const reader = response.clone().body!.getReader();
  const decoder = new TextDecoder();
  let text = '';
  try {
    while (text.length < PAGE_CHARS) {
      const read = (await reader.read()) as { done: boolean; value?: Uint8Array };
      if (read.done) break;
      text += decoder.decode(read.value, { stream: true });
    }
    return text;
  } catch {
    // Whoever reads the response itself hears what went wrong.
    return undefined;
  } finally {
    // Not waited for: the copy ends when the response itself has been read.
    reader.cancel().catch(() => undefined);
  }
}
