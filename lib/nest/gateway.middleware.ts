import type { IncomingMessage, ServerResponse } from 'node:http';
import type { NestMiddleware } from '@nestjs/common';
import { Inject, Injectable } from '@nestjs/common';
import type { GatewayAnswer } from '../gateway/gateway-answer.js';
import { GatewayLimiter } from '../gateway/gateway-limiter.js';
import { GatewayClients } from './gateway-clients.js';
import { RateLimitExceededException } from './rate-limit-exceeded.exception.js';
import { RateLimitUnavailableException } from './rate-limit-unavailable.exception.js';
import { HeaderMemo, newToldHeaders, writeHeaders } from './rate-limit-headers.js';
import type { CheckedOptions } from './rate-limit-options.js';
import { CHECKED_OPTIONS } from './rate-limit.module-definition.js';
import { releaseWhenDone } from './release-when-done.js';

/**
 * Keeps every request to the limits of its route, its backend, its client and the whole server. It
 * holds its connection until the response is finished or the client is gone.
 */
@Injectable()
export class GatewayMiddleware implements NestMiddleware<IncomingMessage, ServerResponse> {
  readonly #memo = new HeaderMemo();

  constructor(
    private readonly gateway: GatewayLimiter,
    private readonly clients: GatewayClients,
    @Inject(CHECKED_OPTIONS) private readonly options: CheckedOptions,
  ) {}

  async use(request: IncomingMessage, response: ServerResponse, next: () => void): Promise<void> {
    const target = this.clients.targetOf(request);
    const answer = await this.gateway.enter(target);
    if (answer.allowed) releaseWhenDone(answer, response);
    if (!response.headersSent) this.#tell(answer, response);
    if (answer.allowed) next();
    else this.#refuse(answer, response);
  }

  #tell(answer: GatewayAnswer, response: ServerResponse): void {
    const set = (name: string, value: string) => void response.setHeader(name, value);
    const { headers: style } = this.options;
    writeHeaders(answer, newToldHeaders(), { style, memo: this.#memo, set });
  }

  #refuse(answer: GatewayAnswer, response: ServerResponse): never {
    if (answer.reason === 'FAIL_CLOSED') throw new RateLimitUnavailableException();
    const { problemDetails } = this.options;
    if (problemDetails) response.setHeader('Content-Type', 'application/problem+json');
    throw new RateLimitExceededException(answer, problemDetails);
  }
}
