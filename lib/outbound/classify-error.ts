import type { BlockType } from './block-type.js';

/** How a request got lost before there was a response. */
export type LostRequest = Extract<BlockType, 'timeout' | 'connection_error'>;

/** The parts of an error that tell, whoever made it. */
interface ErrorShape {
  readonly name?: unknown;
  readonly code?: unknown;
  readonly cause?: unknown;
  readonly errors?: unknown;
  readonly isAxiosError?: unknown;
}

/** Errors looked at in one chain of causes, and of what failed together. */
const MAX_ERRORS = 32;

const TIMEOUT_CODES: ReadonlySet<string> = new Set([
  'ETIMEDOUT',
  'ESOCKETTIMEDOUT',
  'ETIMEOUT',
  'ERR_SOCKET_CONNECTION_TIMEOUT',
  'ERR_TLS_HANDSHAKE_TIMEOUT',
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
]);

const CONNECTION_CODES: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'ENOTFOUND',
  'ENODATA',
  'ESERVFAIL',
  'EPIPE',
  'EPROTO',
  'EHOSTUNREACH',
  'EHOSTDOWN',
  'ENETUNREACH',
  'ENETDOWN',
  'ENETRESET',
  'EADDRNOTAVAIL',
  'UND_ERR_SOCKET',
  'UND_ERR_RES_CONTENT_LENGTH_MISMATCH',
  'ERR_NETWORK',
  'ERR_STREAM_PREMATURE_CLOSE',
  'ERR_HTTP2_SESSION_ERROR',
  'ERR_HTTP2_STREAM_ERROR',
  'ERR_HTTP2_GOAWAY_SESSION',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
]);

/** Name look-ups, certificates, TLS, and answers that are not HTTP come in many kinds. */
const CONNECTION_FAMILIES = /^(?:EAI_|CERT_|UNABLE_TO_|ERR_TLS_CERT_|ERR_SSL_|HPE_)/;

/**
 * Tells a request that timed out or lost its connection from one that failed for another reason:
 * undefined for those, such as a bad address, and for what the caller aborted. Knows the errors of
 * fetch, Node's http, undici and axios by their codes, at any depth of causes.
 */
export function classifyError(error: unknown): LostRequest | undefined {
  try {
    return classify(error, new Set());
  } catch {
    // Reading a hostile error threw. Whoever asks has the error itself to report.
    return undefined;
  }
}

function classify(error: unknown, seen: Set<unknown>): LostRequest | undefined {
  if (typeof error !== 'object' || error === null) return undefined;
  if (seen.has(error) || seen.size >= MAX_ERRORS) return undefined;
  seen.add(error);
  const shape: ErrorShape = error;
  if (isAbort(shape)) return isTimeoutError(shape.cause) ? 'timeout' : undefined;
  if (isTimeoutError(shape)) return 'timeout';
  // axios says ERR_NETWORK for anything; the cause knows better.
  if (shape.code === 'ERR_NETWORK') return classify(shape.cause, seen) ?? 'connection_error';
  return byCode(shape) ?? classify(shape.cause, seen) ?? firstOf(shape.errors, seen);
}

/** What the caller gave up: its causes are the caller's as well. */
function isAbort({ name, code }: ErrorShape): boolean {
  return name === 'AbortError' || code === 'ABORT_ERR' || code === 'ERR_CANCELED';
}

/** The reason of `AbortSignal.timeout`, which some clients wrap into an abort. */
function isTimeoutError(error: unknown): boolean {
  return (error as ErrorShape | undefined)?.name === 'TimeoutError';
}

function byCode(error: ErrorShape): LostRequest | undefined {
  const { code } = error;
  if (typeof code !== 'string') return undefined;
  if (TIMEOUT_CODES.has(code) || isTimeoutOfAxios(error)) return 'timeout';
  const isConnection = CONNECTION_CODES.has(code) || CONNECTION_FAMILIES.test(code);
  return isConnection ? 'connection_error' : undefined;
}

/** To the system ECONNABORTED is a lost connection, to axios its own `timeout`. */
function isTimeoutOfAxios({ code, isAxiosError }: ErrorShape): boolean {
  return code === 'ECONNABORTED' && isAxiosError === true;
}

/** Several addresses were tried, and all of them failed. */
function firstOf(errors: unknown, seen: Set<unknown>): LostRequest | undefined {
  if (!Array.isArray(errors)) return undefined;
  for (const error of errors.slice(0, MAX_ERRORS)) {
    const type = classify(error, seen);
    if (type) return type;
  }
  return undefined;
}
