import { InvalidOptionError } from '../core/errors.js';
import type { AdaptiveThrottler } from './adaptive-throttler.js';
import type { Classifier } from './classifiers.js';
import { withClassifiers } from './classifiers.js';
import { PAGE_CHARS } from './html-page.js';
import { domainOf } from './domain-of-url.js';
import type { ReportParts } from './report-call.js';
import { quietly, reportFailure, reportResponse } from './report-call.js';
import type { Permit } from './permit.js';
import type { ResponseHeaders } from './response-headers.js';
import type { Waits } from './wait-options.js';

/** An axios instance, as far as it is used. Described here, so that axios need not be installed. */
export interface AxiosTarget {
  /** What every request has unless it says otherwise. */
  readonly defaults: object;
  /** Where requests are caught before they are sent. */
  readonly interceptors: {
    readonly request: {
      use(work: unknown, failed?: unknown, options?: unknown): number;
      eject(id: number): void;
    };
  };
  /** Makes another instance. */
  create(config?: object): AxiosTarget;
  /** The URL that a request goes to. */
  getUri(config?: object): string;
  /** Sends a request. */
  request(config: object): Promise<unknown>;
}

/** What holds an axios instance: the `HttpService` of `@nestjs/axios`. */
export interface AxiosHolder {
  /** The axios instance. */
  readonly axiosRef: AxiosTarget;
}

/** How calls by axios are limited. */
export interface LimitAxiosOptions {
  /**
   * Longest acceptable wait for a turn in milliseconds. The `timeout` of axios does not count it.
   * @default that of the module, which is none
   */
  readonly timeoutMs?: number;
  /**
   * Tells blocks that are not told by default, from what came back.
   * @default []
   */
  readonly classifiers?: readonly Classifier[];
  /**
   * Pauses when a domain says that nothing is left (`RateLimit`, `X-RateLimit-*`), before it blocks.
   * @default false
   */
  readonly heedUpstreamLimits?: boolean;
}

/** The token by which axios called off requests before there were signals; Nest still does. */
interface CancelToken {
  subscribe(listener: (reason: unknown) => void): void;
  unsubscribe(listener: (reason: unknown) => void): void;
}

/** A request as axios hands it to its adapter. */
interface AxiosRequest {
  readonly url?: string;
  readonly baseURL?: string;
  readonly allowAbsoluteUrls?: boolean;
  readonly method?: string;
  readonly signal?: AbortSignal;
  readonly cancelToken?: CancelToken;
  adapter?: unknown;
}

interface AxiosResponse {
  readonly status: number;
  readonly headers?: ResponseHeaders;
  readonly data?: unknown;
  config: object;
}

interface AxiosFailure {
  readonly response?: AxiosResponse;
  config?: object;
}

/** What makes the call: axios finds it by the configuration of the request. */
type Adapter = (request: AxiosRequest) => Promise<AxiosResponse>;

/** Adapters that wait first. A request that is tried again comes with the one that it had. */
const LIMITED = new WeakSet<object>();

/**
 * Makes axios wait for its turn before each call, and tell the throttler what came of it, as
 * `OutboundLimiter.fetch` does. Takes an axios instance or the `HttpService` of `@nestjs/axios`, and
 * returns the function that undoes it.
 *
 * The domain is that of `baseURL` and `url` as all interceptors left them, wherever redirects lead. A
 * `signal` ends the wait as well, `timeout` bounds the call as before. Each try of a retry waits anew.
 *
 * @example
 * const stop = limitAxios(httpService, outboundLimiter, adaptiveThrottler);
 */
export function limitAxios(
  target: AxiosTarget | AxiosHolder,
  limiter: Waits,
  throttler: AdaptiveThrottler,
  options: LimitAxiosOptions = {},
): () => void {
  const axios = axiosIn(target);
  const { classifiers = [], heedUpstreamLimits = false, timeoutMs } = options;
  const limit = new AxiosLimit(blank(axios), limiter, timeoutMs, {
    throttler,
    classify: withClassifiers(classifiers),
    heedsUpstreamLimits: heedUpstreamLimits,
    timeMs: Date.now,
  });
  const { request } = axios.interceptors;
  const id = request.use((config: AxiosRequest) => limit.applyTo(config), null, {
    synchronous: true,
  });
  return () => request.eject(id);
}

/**
 * Stands between axios and its adapter: waiting, calling and giving back are one function there, which
 * ends in one place, whatever other interceptors do or throw before and after.
 */
class AxiosLimit {
  constructor(
    private readonly plain: AxiosTarget,
    private readonly limiter: Waits,
    private readonly timeoutMs: number | undefined,
    private readonly parts: ReportParts,
  ) {}

  applyTo(request: AxiosRequest): AxiosRequest {
    const { adapter } = request;
    if (typeof adapter === 'function' && LIMITED.has(adapter)) return request;
    const limited: Adapter = (final) => this.#call(adapter, final);
    LIMITED.add(limited);
    request.adapter = limited;
    return request;
  }

  async #call(adapter: unknown, request: AxiosRequest): Promise<AxiosResponse> {
    const { plain, parts } = this;
    const { url, baseURL, allowAbsoluteUrls } = request;
    const domain = domainOf(plain.getUri({ url, baseURL, allowAbsoluteUrls }));
    const permit = await this.#wait(domain, request);
    try {
      const response = await this.#send(adapter, request);
      await quietly(reportResponse(parts, domain, sourceOf(response, request), permit));
      return response;
    } catch (error) {
      await quietly(this.#reportError(domain, error as AxiosFailure, request, permit));
      throw error;
    } finally {
      await quietly(permit.release());
    }
  }

  async #wait(domain: string, { signal, cancelToken }: AxiosRequest): Promise<Permit> {
    const { limiter, timeoutMs } = this;
    if (!cancelToken) return limiter.wait(domain, { timeoutMs, signal });
    const cancelling = new AbortController();
    const cancel = (reason: unknown) => cancelling.abort(reason);
    cancelToken.subscribe(cancel);
    const signals = signal ? [signal, cancelling.signal] : [cancelling.signal];
    try {
      return await limiter.wait(domain, { timeoutMs, signal: AbortSignal.any(signals) });
    } finally {
      cancelToken.unsubscribe(cancel);
    }
  }

  /** Only axios can find the adapter behind a name. What others have to see is the request as it was. */
  async #send(adapter: unknown, request: AxiosRequest): Promise<AxiosResponse> {
    if (typeof adapter === 'function') return (adapter as Adapter)(request);
    try {
      // The data has been transformed, and the response will be.
      const untouched = { transformRequest: [], transformResponse: [] };
      const response = await this.plain.request({ ...request, ...untouched, adapter });
      return Object.assign(response as AxiosResponse, { config: request });
    } catch (error) {
      const failure = error as AxiosFailure;
      if (failure.config) failure.config = request;
      if (failure.response) failure.response.config = request;
      throw error;
    }
  }

  /** What axios rejects because of its status is an answer all the same. */
  async #reportError(
    domain: string,
    error: AxiosFailure,
    request: AxiosRequest,
    permit: Permit,
  ): Promise<void> {
    const { response } = error;
    if (!response) return reportFailure(this.parts, domain, error, permit);
    await reportResponse(this.parts, domain, sourceOf(response, request), permit);
  }
}

/** The same axios without any settings, so that a request is sent with its own alone. */
function blank(axios: AxiosTarget): AxiosTarget {
  const plain = axios.create();
  const settings = plain.defaults as Record<string, unknown>;
  for (const name of Object.keys(settings)) delete settings[name];
  return plain;
}

function sourceOf({ status, headers = {}, data }: AxiosResponse, { method }: AxiosRequest) {
  const body = textOf(data);
  return {
    ...{ status, headers },
    ...(method === undefined ? {} : { method }),
    ...(body === undefined ? {} : { body }),
  };
}

/** The beginning of a body that has been read; a stream is for the caller. */
function textOf(data: unknown): string | undefined {
  if (typeof data === 'string') return data;
  const bytes = data instanceof ArrayBuffer ? new Uint8Array(data) : data;
  if (!(bytes instanceof Uint8Array)) return undefined;
  // A character takes up to four bytes.
  return new TextDecoder().decode(bytes.subarray(0, 4 * PAGE_CHARS));
}

function axiosIn(target: AxiosTarget | AxiosHolder): AxiosTarget {
  const found: unknown = isHolder(target) ? target.axiosRef : target;
  if (isAxios(found)) return found;
  throw new InvalidOptionError(
    'target',
    'an axios instance, or the HttpService of @nestjs/axios',
    target,
  );
}

function isHolder(target: unknown): target is AxiosHolder {
  return typeof target === 'object' && target !== null && 'axiosRef' in target;
}

/** An instance is a function with properties. */
function isAxios(target: unknown): target is AxiosTarget {
  const axios = target as AxiosTarget | null | undefined;
  return (
    typeof axios?.create === 'function' &&
    typeof axios.getUri === 'function' &&
    typeof axios.interceptors?.request?.use === 'function'
  );
}
