import { rawResponse } from './when-done.js';

/** Nginx's word for a client that hung up before it was answered; never sent to anybody. */
export const CLIENT_CLOSED_REQUEST = 499;

/** How a request ended. */
export interface RequestOutcome {
  /** The request of the platform. */
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- the user knows the request's type
  readonly request: any;
  /** The response of the platform: Express's `Response`, Fastify's `Reply`. */
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- the user knows the response's type
  readonly response: any;
  /** The status that was sent; 499 when the client hung up before it had the whole response. */
  readonly statusCode: number;
  /** What the handler threw. A guard that refused is told by the status alone. */
  readonly error: unknown;
}

/** Tells how a request ended, now that it has. */
export function outcomeOf(request: unknown, response: unknown, error: unknown): RequestOutcome {
  const { writableEnded, writableFinished, statusCode } = rawResponse(response);
  // By HTTP/2, a response that its client left is finished although nobody has ended it.
  const isWhole = writableEnded && writableFinished;
  return {
    request,
    response,
    statusCode: isWhole ? statusCode : CLIENT_CLOSED_REQUEST,
    error,
  };
}
