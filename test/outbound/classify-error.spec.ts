import type { RequestOptions } from 'node:http';
import { get } from 'node:http';
import type { AddressInfo, Server, Socket } from 'node:net';
import { createServer } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { runInThisContext } from 'node:vm';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { classifyError } from '../../lib/outbound/classify-error.js';
import { selfSignedCertificate } from './self-signed-certificate.js';

const servers: Server[] = [];
const sockets = new Set<Socket>();
const port: Record<string, number> = {};

async function listen(server: Server): Promise<number> {
  servers.push(server);
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

/** A server that does this with the first words of every caller. */
function answering(answer: (socket: Socket) => void): Promise<number> {
  return listen(createServer((socket) => void socket.once('data', () => answer(socket))));
}

/** Promises the error that the work ends with. */
async function failureOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => Promise.reject(new Error('It did not fail.')),
    (error: unknown) => error,
  );
}

/** Node's fetch with other deadlines: its agent can be had from the agent that it uses itself. */
function fetchWith(url: string, options: object): Promise<Response> {
  const agent = runInThisContext(
    `fetch('data:,').then(() => globalThis[Symbol.for('undici.globalDispatcher.1')].constructor)`,
  ) as Promise<new (options: object) => object>;
  return agent.then((Agent) => fetch(url, { dispatcher: new Agent(options) } as RequestInit));
}

function getByNode(url: string, options: RequestOptions = {}): Promise<unknown> {
  return new Promise((resolve, reject) => {
    get(url, options, resolve).on('error', reject);
  });
}

function url(name: string, protocol = 'http'): string {
  return `${protocol}://127.0.0.1:${port[name]}/`;
}

function abortSoon(): AbortSignal {
  const controller = new AbortController();
  setTimeout(() => controller.abort(), 20);
  return controller.signal;
}

/** The codes of the error and its causes. */
function codesOf(error: unknown): unknown[] {
  const { code, cause } = error as { code?: unknown; cause?: unknown };
  return cause === undefined ? [code] : [code, ...codesOf(cause)];
}

beforeAll(async () => {
  const beginning = 'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nthe beginning';
  port['silent'] = await answering(() => undefined);
  port['closing'] = await answering((socket) => socket.end());
  port['resetting'] = await answering((socket) => socket.resetAndDestroy());
  port['babbling'] = await answering((socket) => socket.end('hello there\r\n\r\n'));
  port['stalling'] = await answering((socket) => socket.write(beginning));
  port['breaking'] = await answering((socket) => socket.end(beginning));
  port['untrusted'] = await listen(createTlsServer(selfSignedCertificate()));
  const gone = createServer();
  port['gone'] = await listen(gone);
  await new Promise((resolve) => gone.close(resolve));
});

afterAll(() => {
  for (const socket of sockets) socket.destroy();
  for (const server of servers) server.close();
});

describe('what really happens to fetch', () => {
  it.each<[string, string, () => Promise<unknown>]>([
    ['nobody listens', 'ECONNREFUSED', () => fetch(url('gone'))],
    [
      'nobody listens at any address',
      'ECONNREFUSED',
      () => fetch(`http://localhost:${port['gone']}`),
    ],
    ['the connection is reset', 'ECONNRESET', () => fetch(url('resetting'))],
    ['the connection is closed', 'UND_ERR_SOCKET', () => fetch(url('closing'))],
    ['the body breaks off', 'UND_ERR_SOCKET', async () => (await fetch(url('breaking'))).text()],
    ['the answer is not HTTP', 'HPE_INVALID_CONSTANT', () => fetch(url('babbling'))],
    [
      'the certificate is worthless',
      'DEPTH_ZERO_SELF_SIGNED_CERT',
      () => fetch(url('untrusted', 'https')),
    ],
  ])('%s: a connection error (%s)', async (_what, code, work) => {
    const error = await failureOf(work());
    expect(codesOf(error)).toContain(code);
    expect(classifyError(error)).toBe('connection_error');
  });

  it('TLS finds no TLS: a connection error', async () => {
    const error = await failureOf(fetch(url('babbling', 'https')));
    expect(String(codesOf(error)[1])).toMatch(/^(ERR_SSL_|EPROTO)/);
    expect(classifyError(error)).toBe('connection_error');
  });

  it('the name leads nowhere: a connection error', async () => {
    // No label of a name has more than 63 characters, so that nobody has to be asked.
    const error = await failureOf(fetch(`http://${'a'.repeat(64)}/`));
    expect(codesOf(error)[1]).toMatch(/^(ENOTFOUND|EAI_)/);
    expect(classifyError(error)).toBe('connection_error');
  });

  it.each<[string, unknown, () => Promise<unknown>]>([
    [
      'no headers',
      'UND_ERR_HEADERS_TIMEOUT',
      () => fetchWith(url('silent'), { headersTimeout: 50 }),
    ],
    [
      'no handshake',
      'UND_ERR_CONNECT_TIMEOUT',
      () => fetchWith(url('silent', 'https'), { connect: { timeout: 50 } }),
    ],
    [
      'no more body',
      'UND_ERR_BODY_TIMEOUT',
      async () => (await fetchWith(url('stalling'), { bodyTimeout: 50 })).text(),
    ],
    [
      'AbortSignal.timeout',
      DOMException.TIMEOUT_ERR,
      () => fetch(url('silent'), { signal: AbortSignal.timeout(20) }),
    ],
    [
      'AbortSignal.timeout while reading',
      DOMException.TIMEOUT_ERR,
      async () => (await fetch(url('stalling'), { signal: AbortSignal.timeout(100) })).text(),
    ],
  ])('%s: a timeout (%s)', async (_what, code, work) => {
    const error = await failureOf(work());
    expect(codesOf(error)).toContain(code);
    expect(classifyError(error)).toBe('timeout');
  });

  it.each<[string, () => Promise<unknown>]>([
    ['the caller aborts', () => fetch(url('silent'), { signal: abortSoon() })],
    ['the caller aborted before', () => fetch(url('silent'), { signal: AbortSignal.abort() })],
    ['the address is none', () => fetch('nowhere')],
    ['the scheme is unknown', () => fetch('gopher://127.0.0.1/')],
    ['the port is forbidden', () => fetch('http://127.0.0.1:6667/')],
  ])('%s: neither', async (_what, work) => {
    expect(classifyError(await failureOf(work()))).toBeUndefined();
  });
});

describe('what really happens to http.get', () => {
  it.each<[string, string, RequestOptions]>([
    ['closing', 'ECONNRESET', {}],
    ['gone', 'ECONNREFUSED', {}],
    ['babbling', 'HPE_INVALID_CONSTANT', {}],
  ])('%s: a connection error (%s)', async (name, code, options) => {
    const error = await failureOf(getByNode(url(name), options));
    expect(codesOf(error)).toEqual([code]);
    expect(classifyError(error)).toBe('connection_error');
  });

  it('AbortSignal.timeout, which comes as an abort: a timeout', async () => {
    const error = await failureOf(getByNode(url('silent'), { signal: AbortSignal.timeout(20) }));
    expect(codesOf(error)).toEqual(['ABORT_ERR', DOMException.TIMEOUT_ERR]);
    expect(classifyError(error)).toBe('timeout');
  });

  it('an abort by the caller: neither', async () => {
    const error = await failureOf(getByNode(url('silent'), { signal: abortSoon() }));
    expect(codesOf(error)[0]).toBe('ABORT_ERR');
    expect(classifyError(error)).toBeUndefined();
  });
});

describe('the shape of an error', () => {
  const coded = (code: unknown, more: object = {}) => Object.assign(new Error('x'), { code }, more);
  const axios = (code: string, more: object = {}) => coded(code, { isAxiosError: true, ...more });

  it.each([
    'ECONNREFUSED',
    'ECONNRESET',
    'ECONNABORTED',
    'ENOTFOUND',
    'ENODATA',
    'ESERVFAIL',
    'EAI_AGAIN',
    'EAI_FAIL',
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
    'CERT_HAS_EXPIRED',
    'CERT_NOT_YET_VALID',
    'DEPTH_ZERO_SELF_SIGNED_CERT',
    'SELF_SIGNED_CERT_IN_CHAIN',
    'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
    'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
    'ERR_TLS_CERT_ALTNAME_INVALID',
    'ERR_SSL_WRONG_VERSION_NUMBER',
    'HPE_HEADER_OVERFLOW',
  ])('%s is a connection error, bare or as a cause', (code) => {
    expect(classifyError(coded(code))).toBe('connection_error');
    expect(classifyError(new TypeError('fetch failed', { cause: coded(code) }))).toBe(
      'connection_error',
    );
  });

  it.each([
    'ETIMEDOUT',
    'ESOCKETTIMEDOUT',
    'ETIMEOUT',
    'ERR_SOCKET_CONNECTION_TIMEOUT',
    'ERR_TLS_HANDSHAKE_TIMEOUT',
    'UND_ERR_CONNECT_TIMEOUT',
    'UND_ERR_HEADERS_TIMEOUT',
    'UND_ERR_BODY_TIMEOUT',
  ])('%s is a timeout, bare or as a cause', (code) => {
    expect(classifyError(coded(code))).toBe('timeout');
    expect(classifyError(new TypeError('fetch failed', { cause: coded(code) }))).toBe('timeout');
  });

  it.each([
    [axios('ECONNABORTED'), 'timeout'],
    [axios('ETIMEDOUT'), 'timeout'],
    [axios('ERR_NETWORK'), 'connection_error'],
    [axios('ERR_NETWORK', { cause: coded('ECONNREFUSED') }), 'connection_error'],
    [axios('ERR_NETWORK', { cause: new Error('x', { cause: coded('ETIMEDOUT') }) }), 'timeout'],
    [axios('ECONNREFUSED'), 'connection_error'],
    [axios('ERR_CANCELED'), undefined],
    [axios('ERR_BAD_REQUEST'), undefined],
    [axios('ERR_BAD_RESPONSE'), undefined],
  ])('of axios (case %#)', (error, type) => {
    expect(classifyError(error)).toBe(type);
  });

  it.each([
    [new DOMException('x', 'TimeoutError'), 'timeout'],
    [Object.assign(new Error('x'), { name: 'TimeoutError' }), 'timeout'],
    [new DOMException('x', 'AbortError'), undefined],
    [coded('ABORT_ERR', { cause: new DOMException('x', 'TimeoutError') }), 'timeout'],
    [coded('ABORT_ERR', { cause: coded('ECONNRESET') }), undefined],
    [coded('ABORT_ERR', { cause: null }), undefined],
    [new Error('x', { cause: new DOMException('x', 'AbortError') }), undefined],
  ])('of a signal (case %#)', (error, type) => {
    expect(classifyError(error)).toBe(type);
  });

  it.each([
    [new AggregateError([coded('ECONNREFUSED'), coded('ETIMEDOUT')]), 'connection_error'],
    [new AggregateError([new Error('x'), coded('ETIMEDOUT')]), 'timeout'],
    [new AggregateError([new Error('x', { cause: coded('EPIPE') })]), 'connection_error'],
    [new Error('x', { cause: new AggregateError([coded('ETIMEDOUT')]) }), 'timeout'],
    [coded('ETIMEDOUT', { errors: [coded('ECONNREFUSED')] }), 'timeout'],
    [new AggregateError([]), undefined],
    [new AggregateError([new Error('x'), 'ECONNRESET', null]), undefined],
    [coded('x', { errors: 'ECONNRESET' }), undefined],
  ])('of several failures (case %#)', (error, type) => {
    expect(classifyError(error)).toBe(type);
  });

  it.each([
    undefined,
    null,
    'ECONNRESET',
    42,
    {},
    [],
    () => undefined,
    new Error('timeout ECONNRESET'),
    coded('EMFILE'),
    coded('ERR_INVALID_URL'),
    coded('econnreset'),
    coded(['ECONNRESET']),
    coded(110),
  ])('that says nothing is neither (case %#)', (error) => {
    expect(classifyError(error)).toBeUndefined();
  });

  it('may be a circle', () => {
    const [one, other] = [coded('x'), coded('y')];
    Object.assign(one, { cause: other, errors: [one, other] });
    Object.assign(other, { cause: one, errors: [one, other] });
    expect(classifyError(one)).toBeUndefined();
    Object.assign(other, { errors: [one, coded('ETIMEDOUT')] });
    expect(classifyError(one)).toBe('timeout');
  });

  it('is looked at 32 errors deep or wide', () => {
    const nested = (depth: number): Error =>
      depth === 0 ? coded('EPIPE') : new Error('x', { cause: nested(depth - 1) });
    expect(classifyError(nested(31))).toBe('connection_error');
    expect(classifyError(nested(32))).toBeUndefined();
    const wide = (count: number) =>
      new AggregateError([...Array.from({ length: count }, () => new Error('x')), coded('EPIPE')]);
    expect(classifyError(wide(30))).toBe('connection_error');
    expect(classifyError(wide(31))).toBeUndefined();
  });

  it('may throw when it is read', () => {
    const trap = Object.defineProperty(new Error('x'), 'code', {
      get: () => {
        throw new Error('trap');
      },
    });
    expect(classifyError(trap)).toBeUndefined();
    expect(classifyError(new AggregateError([trap]))).toBeUndefined();
  });
});
