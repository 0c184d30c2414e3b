import { HeldSource } from './held-body.js';

/** What a response says about where it came from, which its constructor does not take. */
interface Origin {
  readonly url: string;
  readonly redirected: boolean;
  readonly type: Response['type'];
}

/**
 * The same response, which calls `onEnd` once when its body has ended: it was received whole, it
 * failed, it was cancelled, or it was dropped. Without a body, or where the response cannot be made
 * again, that is at once.
 */
export function holdUntilRead(response: Response, onEnd: () => void): Response {
  const { body } = response;
  const source = new HeldSource();
  const held = isReadable(response, body) ? rebuilt(response, source.streamLike(body)) : undefined;
  if (!held) {
    onEnd();
    return response;
  }
  source.open(body!, onEnd);
  return held;
}

function isReadable(
  { bodyUsed }: Response,
  body: ReadableStream<Uint8Array<ArrayBuffer>> | null,
): body is ReadableStream<Uint8Array<ArrayBuffer>> {
  return !bodyUsed && body instanceof ReadableStream && !body.locked;
}

/** By its own class: it may be of another copy of fetch. */
function rebuilt(
  response: Response,
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
): Response | undefined {
  const { status, statusText, headers, url, redirected, type } = response;
  try {
    const Class = response.constructor as typeof Response;
    return comingFrom(new Class(body, { status, statusText, headers }), { url, redirected, type });
  } catch {
    return undefined;
  }
}

/** Makes a response say where it came from, its copies as well. */
export function comingFrom(response: Response, origin: Origin): Response {
  const clone = response.clone.bind(response);
  const own = { ...origin, clone: () => comingFrom(clone(), origin) };
  for (const [name, value] of Object.entries(own)) {
    Object.defineProperty(response, name, { value, configurable: true });
  }
  return response;
}
