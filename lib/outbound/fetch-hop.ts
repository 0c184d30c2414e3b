import { domainOf } from './domain-of-url.js';
import { comingFrom } from './held-response.js';
import { headersLeftBehind, redirectOf } from './redirect.js';

/** So many redirects are followed, as `fetch` does it. */
const MAX_REDIRECTS = 20;

type Input = string | URL | Request;

/** What the caller asked for, as far as redirects have to repeat it. */
interface Asked {
  readonly init: RequestInit;
  readonly request: Request | undefined;
  /** Gives the body once more; undefined when it cannot be sent again. */
  readonly body: (() => Promise<RequestInit['body']>) | undefined;
}

/** One request of a call: the first one, or one that a redirect led to. */
export class FetchHop {
  /** The domain that it goes to. */
  readonly domain: string;

  private constructor(
    private readonly asked: Asked,
    readonly input: Input,
    readonly init: RequestInit,
    /** The address with its fragment. */
    private readonly url: string | URL,
    readonly method: string,
    /** How many redirects led here. */
    private readonly redirects: number,
    /** Whether any of them led to another origin. */
    private readonly hasLeftOrigin = false,
  ) {
    this.domain = domainOf(url);
  }

  static first(input: Input, init: RequestInit): FetchHop {
    const request = isRequest(input) ? input : undefined;
    const url = request ? request.url : (input as string | URL);
    const method = init.method ?? request?.method ?? 'GET';
    if (!follows(init, request)) {
      return new FetchHop({ init, request, body: undefined }, input, init, url, method, NEVER);
    }
    const asked = { init, request, body: bodyOf(init, request) };
    return new FetchHop(asked, input, { ...init, redirect: 'manual' }, url, method, 0);
  }

  get signal(): AbortSignal | null | undefined {
    const { init, request } = this.asked;
    return init.signal === undefined ? request?.signal : init.signal;
  }

  /** The response as `fetch` would have handed it over after the same redirects. */
  finish(response: Response): Response {
    if (this.redirects <= 0) return response;
    const { url, type } = response;
    const seen = this.hasLeftOrigin && type === 'basic' ? 'cors' : type;
    return comingFrom(response, { url, redirected: true, type: seen });
  }

  /** The request that the answer leads to; undefined when there is none. Fails as `fetch` does. */
  async next(response: Response): Promise<FetchHop | undefined> {
    if (this.redirects === NEVER) return undefined;
    try {
      return await this.#next(response);
    } catch (cause) {
      throw new TypeError('fetch failed', { cause });
    }
  }

  async #next({ status, headers, url: answered }: Response): Promise<FetchHop | undefined> {
    const { url, method, asked } = this;
    const location = headers.get('location');
    if (location === null) return undefined;
    const base = new URL(answered || url);
    base.hash = new URL(url).hash;
    const redirect = redirectOf({ status, location, url: base.href, method });
    if (!redirect) return undefined;
    if (this.redirects >= MAX_REDIRECTS) throw new Error('redirect count exceeded');
    if (redirect.leavesOrigin && this.#mode === 'same-origin') {
      throw new Error('request mode cannot be "same-origin"');
    }
    if (redirect.url.username !== '' || redirect.url.password !== '') {
      throw new Error('URL cannot contain credentials for request mode "cors"');
    }
    const hadBody = this.#hasBody;
    if (hadBody && status !== 303 && !asked.body) throw new Error('the body cannot be sent again');
    const body = hadBody && !redirect.dropsBody ? await asked.body!() : undefined;
    const kept = this.#headers();
    for (const name of headersLeftBehind(redirect)) kept.delete(name);
    const init = { ...repeated(asked), method: redirect.method, headers: kept, body: body ?? null };
    const to = redirect.url.href;
    const hasLeft = this.hasLeftOrigin || redirect.leavesOrigin;
    return new FetchHop(asked, to, init, to, redirect.method, this.redirects + 1, hasLeft);
  }

  get #mode(): string | undefined {
    return this.asked.init.mode ?? this.asked.request?.mode;
  }

  get #hasBody(): boolean {
    if (this.redirects > 0) return this.init.body != null;
    return this.init.body != null || this.asked.request?.body != null;
  }

  #headers(): Headers {
    return new Headers(this.init.headers ?? this.asked.request?.headers);
  }
}

/** Stands for the number of redirects of a call that does not follow any. */
const NEVER = -1;

/** Also one of another copy of fetch. */
function isRequest(input: Input): input is Request {
  return typeof input === 'object' && input !== null && 'url' in input;
}

/** A hash is one of the last answer, which only `fetch` itself can tell from the others. */
function follows(init: RequestInit, request: Request | undefined): boolean {
  const mode = init.redirect ?? request?.redirect ?? 'follow';
  const integrity = init.integrity ?? request?.integrity ?? '';
  return mode === 'follow' && integrity === '';
}

/** What is said again with every request. */
function repeated({ init, request }: Asked): RequestInit {
  if (!request) return { ...init, redirect: 'manual' };
  const { cache, credentials, keepalive, mode, referrer, referrerPolicy, signal } = request;
  const own = { cache, credentials, keepalive, mode, referrer, referrerPolicy, signal };
  return { ...own, ...init, redirect: 'manual' };
}

function bodyOf(init: RequestInit, request: Request | undefined): Asked['body'] {
  const { body } = init;
  if (body != null) return isOneTime(body) ? undefined : () => Promise.resolve(body);
  return request?.body ? spareBodyOf(request) : undefined;
}

function isOneTime(body: object | string): boolean {
  return (
    typeof body === 'object' && (body instanceof ReadableStream || Symbol.asyncIterator in body)
  );
}

/**
 * The body of a request once more, unless it is a stream, of which nothing is kept. Only a request
 * that was made from a stream is refused another mode: that is how the standard tells them apart.
 */
function spareBodyOf(request: Request): Asked['body'] {
  if (!(request instanceof Request)) return undefined;
  const spare = request.clone();
  try {
    const kept = new Request(spare, { method: 'POST', mode: 'no-cors' });
    let bytes: Promise<ArrayBuffer> | undefined;
    return () => (bytes ??= kept.arrayBuffer());
  } catch {
    spare.body?.cancel().catch(() => undefined);
    return undefined;
  }
}
