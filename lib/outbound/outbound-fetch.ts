import { InvalidOptionError } from '../core/errors.js';
import type { AdaptiveThrottler } from './adaptive-throttler.js';
import { classifyError } from './classify-error.js';
import type { Classifier } from './classifiers.js';
import type { ResponseSource } from './classify-response.js';
import { mayNeedBody } from './classify-response.js';
import { PAGE_CHARS } from './html-page.js';
import type { Permit } from './permit.js';
import { headerOf } from './response-headers.js';
import { parseRetryAfter } from './retry-after.js';
import { upstreamLimitOf } from './upstream-limit.js';
import type { WaitOptions, Waits } from './wait-options.js';

/** What telling the throttler about a call hangs on. */
export interface ReportParts {
  readonly throttler: AdaptiveThrottler;
  readonly classify: Classifier;
  /** Whether to pause when a domain says that nothing is left, before it blocks. */
  readonly heedsUpstreamLimits: boolean;
  /** The time of day, which dates in headers are compared with. */
  readonly timeMs: () => number;
}

/** What fetching hangs on. */
export interface OutboundFetchParts extends ReportParts {
  readonly fetch: typeof globalThis.fetch;
  /** Whether users' classifiers want to see the body of every response. */
  readonly readsBodies: boolean;
}

/**
 * How long the beginning of a body is waited for. Pages that block come whole at once; one that comes
 * piece by piece is for the caller to read.
 */
const BODY_PATIENCE_MS = 1_000;

/**
 * Waits, calls, looks at what came back and tells the throttler. It is the domain of the URL that was
 * asked for that is waited for and told about, wherever redirects lead.
 */
export class OutboundFetch {
  constructor(private readonly parts: OutboundFetchParts) {}

  async fetch(
    limiter: Waits,
    input: string | URL | Request,
    { tokens, timeoutMs, ...init }: RequestInit & WaitOptions,
  ): Promise<Response> {
    const request = isRequest(input) ? input : undefined;
    const domain = domainOf(isRequest(input) ? input.url : input);
    const signal = init.signal === undefined ? request?.signal : init.signal;
    const permit = await limiter.wait(domain, { tokens, timeoutMs, signal });
    try {
      const response = await this.parts.fetch(input, init);
      await quietly(this.#report(domain, response, init.method ?? request?.method, permit));
      return response;
    } catch (error) {
      await quietly(reportFailure(this.parts, domain, error, permit));
      throw error;
    } finally {
      await quietly(permit.release());
    }
  }

  async #report(
    domain: string,
    response: Response,
    method: string | undefined,
    permit: Permit,
  ): Promise<void> {
    const { status, headers } = response;
    const head = { status, headers, ...(method === undefined ? {} : { method }) };
    const looksInside = this.parts.readsBodies || mayNeedBody(head);
    const body = looksInside ? await beginningOf(response) : undefined;
    await reportResponse(this.parts, domain, body === undefined ? head : { ...head, body }, permit);
  }
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

/** The domain that a call goes to. */
export function domainOf(url: string | URL): string {
  const { hostname } = parsed(url);
  if (hostname !== '') return hostname;
  throw invalidUrl(url);
}

function parsed(url: string | URL): URL {
  try {
    return new URL(url);
  } catch {
    throw invalidUrl(url);
  }
}

function invalidUrl(url: unknown): InvalidOptionError {
  const expected = 'a whole URL, such as "https://api.example.com/items"';
  return new InvalidOptionError('url', expected, shown(url));
}

/** Without what could be a password or a token. */
function shown(url: unknown): unknown {
  const text = url instanceof URL ? url.href : url;
  if (typeof text !== 'string') return typeof text === 'object' && text ? 'an object' : text;
  return text.includes('@') ? 'a text with an "@"' : text.replace(/[?#].*$/s, '...');
}

/** Also one of another copy of fetch. */
function isRequest(input: string | URL | Request): input is Request {
  return typeof input === 'object' && input !== null && 'url' in input;
}

/**
 * The beginning of the body as text, read from a copy; the response stays as it was. Undefined when
 * it cannot be told.
 */
async function beginningOf(response: Response): Promise<string | undefined> {
  if (response.bodyUsed) return undefined;
  if (!response.body) return '';
  const reader = response.clone().body!.getReader();
  // Not waited for: the copy ends when the response itself has been read.
  const stop = () => void reader.cancel().catch(() => undefined);
  let isSlow = false;
  const timer = setTimeout(() => {
    isSlow = true;
    stop();
  }, BODY_PATIENCE_MS);
  try {
    const text = await readText(reader);
    return isSlow ? undefined : text;
  } catch {
    // Whoever reads the response itself hears what went wrong.
    return undefined;
  } finally {
    clearTimeout(timer);
    stop();
  }
}

async function readText(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  while (text.length < PAGE_CHARS) {
    const { done, value } = await reader.read();
    if (done) break;
    text += decoder.decode(value, { stream: true });
  }
  return text;
}
