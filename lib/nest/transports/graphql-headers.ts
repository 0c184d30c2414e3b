import { Inject, Injectable } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { LimitStatus, RateLimitResult } from '../../core/rate-limit-result.js';
import type { SetHeader } from '../rate-limit-headers.js';
import { HeaderMemo, newToldHeaders, writeHeaders } from '../rate-limit-headers.js';
import type { CheckedOptions } from '../rate-limit-options.js';
import { CHECKED_OPTIONS } from '../rate-limit.module-definition.js';

/** Tells limits on the response to which the fields of an operation add up. */
@Injectable()
export class GraphqlHeaders {
  /** What each plan said last, by response. */
  readonly #told = new WeakMap<object, Map<string, LimitStatus>>();
  /** What was told last: fields that are refused together share one result. */
  readonly #last = new WeakMap<object, RateLimitResult>();

  constructor(
    private readonly adapterHost: HttpAdapterHost,
    @Inject(CHECKED_OPTIONS) private readonly options: CheckedOptions,
  ) {}

  /** Writes the headers, or nothing where no response can be reached or it is on its way. */
  tell(response: unknown, result: RateLimitResult): void {
    const { httpAdapter } = this.adapterHost;
    if (!takesHeaders(response) || this.#last.get(response) === result) return;
    if (httpAdapter.isHeadersSent(response) === true) return;
    this.#last.set(response, result);
    const told = this.#told.get(response) ?? new Map<string, LimitStatus>();
    this.#told.set(response, told);
    for (const limit of result.limits) told.set(limit.plan, limit);
    const set: SetHeader = (name, value) => void httpAdapter.setHeader(response, name, value);
    const telling = { style: this.options.headers, memo: new HeaderMemo(), set };
    const { allowed, retryAfterMs } = result;
    const all = { allowed, retryAfterMs, limits: [...told.values()] };
    writeHeaders(all, newToldHeaders(), telling);
  }
}

/** Whether it is a response of Express or Fastify. */
function takesHeaders(response: unknown): response is object {
  const { setHeader, header } = (response ?? {}) as Record<string, unknown>;
  return typeof setHeader === 'function' || typeof header === 'function';
}
