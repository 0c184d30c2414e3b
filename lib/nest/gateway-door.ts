import type { ServerResponse } from 'node:http';
import { BadRequestException, Inject, Injectable } from '@nestjs/common';
import { isPending } from '../core/awaitable.js';
import { resolveKey } from '../core/keys/key-resolver.js';
import { KeyResolvers } from '../core/keys/key-resolvers.js';
import type { GatewayAnswer } from '../gateway/gateway-answer.js';
import type { GatewayTarget } from '../gateway/gateway-target.js';
import { GatewayLimiter } from '../gateway/gateway-limiter.js';
import { RateLimitExceededException } from './rate-limit-exceeded.exception.js';
import { HeaderMemo, newToldHeaders, writeHeaders } from './rate-limit-headers.js';
import type { CheckedOptions } from './rate-limit-options.js';
import { RateLimitUnavailableException } from './rate-limit-unavailable.exception.js';
import { CHECKED_OPTIONS } from './rate-limit.module-definition.js';
import { releaseWhenDone } from './release-when-done.js';
import { rememberTold } from './request-state.js';
import { routedTarget } from './routed-target.js';
import type { FrameworkRequest } from './upgrade-request.js';

/** Where requests come in: tells whose they are and where they go, and whether they may. */
@Injectable()
export class GatewayDoor {
  readonly #memo = new HeaderMemo();

  constructor(
    private readonly gateway: GatewayLimiter,
    private readonly resolvers: KeyResolvers,
    @Inject(CHECKED_OPTIONS) private readonly options: CheckedOptions,
  ) {}

  /** Lets a request go on that holds its connection until its response is over, or throws as `enter`. */
  async pass(request: FrameworkRequest, response: ServerResponse): Promise<void> {
    releaseWhenDone(await this.enter(request, response), response);
  }

  /** Returns the connection of a request that may go on, and throws what its caller is to be told. */
  async enter(request: FrameworkRequest, response: ServerResponse): Promise<GatewayAnswer> {
    const answer = await this.gateway.enter(this.#targetOf(request));
    if (!response.headersSent) this.#tell(answer, request, response);
    if (!answer.allowed) throw this.#refusal(answer, response);
    return answer;
  }

  #targetOf(request: FrameworkRequest): GatewayTarget {
    const host = request.hostname ?? request.headers.host;
    const { match, isAmbiguous } = this.gateway.find(host, routedTarget(request));
    if (isAmbiguous) throw new BadRequestException('Ambiguous path.');
    return { ...match, clientIp: this.#addressOf(request) };
  }

  #addressOf(request: FrameworkRequest): string {
    const address = resolveKey(this.resolvers.from('ip'), request);
    // A socket that is closed already has no address; it counts with its like.
    return address === undefined || isPending(address) ? 'unknown' : address;
  }

  #tell(answer: GatewayAnswer, request: FrameworkRequest, response: ServerResponse): void {
    const set = (name: string, value: string) => void response.setHeader(name, value);
    const { headers: style } = this.options;
    const told = newToldHeaders();
    writeHeaders(answer, told, { style, memo: this.#memo, set });
    rememberTold(request, told);
  }

  #refusal(answer: GatewayAnswer, response: ServerResponse): Error {
    if (answer.reason === 'FAIL_CLOSED') return new RateLimitUnavailableException();
    const { problemDetails } = this.options;
    if (problemDetails && !response.headersSent) {
      response.setHeader('Content-Type', 'application/problem+json');
    }
    return new RateLimitExceededException(answer, problemDetails);
  }
}
