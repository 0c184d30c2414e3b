import { beginningOf } from './body-beginning.js';
import { mayNeedBody } from './classify-response.js';
import { FetchHop } from './fetch-hop.js';
import { holdUntilRead } from './held-response.js';
import type { Permit } from './permit.js';
import type { ReportParts } from './report-call.js';
import { quietly, reportFailure, reportResponse } from './report-call.js';
import type { WaitOptions, Waits } from './wait-options.js';

/** What fetching hangs on. */
export interface OutboundFetchParts extends ReportParts {
  readonly fetch: typeof globalThis.fetch;
  /** Whether users' classifiers want to see the body of every response. */
  readonly readsBodies: boolean;
}

/**
 * Waits, calls, looks at what came back and tells the throttler. Each request that a redirect leads
 * to is a call of its own: it waits for its own domain, and its answer is told of that domain.
 */
export class OutboundFetch {
  constructor(private readonly parts: OutboundFetchParts) {}

  async fetch(
    limiter: Waits,
    input: string | URL | Request,
    { tokens, timeoutMs = Number.POSITIVE_INFINITY, ...init }: RequestInit & WaitOptions,
  ): Promise<Response> {
    const first = FetchHop.first(input, init);
    let leftMs = timeoutMs;
    for (let hop = first; ;) {
      const { domain, signal } = hop;
      const cost = domain === first.domain ? tokens : undefined;
      const permit = await limiter.wait(domain, { tokens: cost, timeoutMs: leftMs, signal });
      leftMs = Math.max(0, leftMs - permit.waitedMs);
      const answer = await this.#call(hop, permit);
      if (!(answer instanceof FetchHop)) return answer;
      hop = answer;
    }
  }

  /** Makes one request. Answers with the response, or with the request that it leads to. */
  async #call(hop: FetchHop, permit: Permit): Promise<FetchHop | Response> {
    const release = () => quietly(permit.release());
    let isHeld = false;
    try {
      const response = await this.#send(hop, permit);
      const next = await this.#follow(hop, response);
      if (next) return next;
      isHeld = permit.holdsSlot;
      return isHeld
        ? holdUntilRead(hop.finish(response), () => void release())
        : hop.finish(response);
    } finally {
      if (!isHeld) await release();
    }
  }

  async #send(hop: FetchHop, permit: Permit): Promise<Response> {
    const { domain, method } = hop;
    try {
      const response = await this.parts.fetch(hop.input, hop.init);
      await quietly(this.#report(domain, response, method, permit));
      return response;
    } catch (error) {
      await quietly(reportFailure(this.parts, domain, error, permit));
      throw error;
    }
  }

  /** Nobody reads the body of a redirect, also of one that leads nowhere. */
  async #follow(hop: FetchHop, response: Response): Promise<FetchHop | undefined> {
    let isOver = true;
    try {
      const next = await hop.next(response);
      isOver = next !== undefined;
      return next;
    } finally {
      if (isOver) void quietly(cancelBody(response));
    }
  }

  async #report(domain: string, response: Response, method: string, permit: Permit): Promise<void> {
    const { status, headers } = response;
    const head = { status, headers, method };
    const looksInside = this.parts.readsBodies || mayNeedBody(head);
    const body = looksInside ? await beginningOf(response) : undefined;
    await reportResponse(this.parts, domain, body === undefined ? head : { ...head, body }, permit);
  }
}

async function cancelBody({ body }: Response): Promise<void> {
  await body?.cancel();
}
