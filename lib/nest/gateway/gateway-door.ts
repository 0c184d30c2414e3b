import type { ServerResponse } from 'node:http';
import { BadRequestException, Inject, Injectable } from '@nestjs/common';
import { isPending } from '../../core/awaitable.js';
import { resolveKey } from '../../core/keys/key-resolver.js';
import { KeyResolvers } from '../../core/keys/key-resolvers.js';
import type { GatewayAnswer } from '../../gateway/connections/gateway-answer.js';
import { GatewayLimiter } from '../../gateway/gateway-limiter.js';
import { RateLimitExceededException } from '../rate-limit-exceeded.exception.js';
import { HeaderMemo, newToldHeaders, writeHeaders } from '../rate-limit-headers.js';
import type { CheckedOptions } from '../rate-limit-options.js';
import { RateLimitUnavailableException } from '../rate-limit-unavailable.exception.js';
import { CHECKED_OPTIONS } from '../rate-limit.module-definition.js';
import { releaseWhenDone } from '../release-when-done.js';
import { rememberTold } from '../request-state.js';
import type { FrameworkRequest } from './upgrade-request.js';

/** Decides on requests as they arrive: which client, which route, and whether they may go on. */
@Injectable()
export class GatewayDoor {
  readonly #memo = new HeaderMemo();

  constructor(
    private readonly gateway: GatewayLimiter,
    private readonly resolvers: KeyResolvers,
    @Inject(CHECKED_OPTIONS) private readonly options: CheckedOptions,
  ) {}

  /** Like `enter`, and ends the connection when the response is over. */
  async pass(request: FrameworkRequest, target: string, response: ServerResponse): Promise<void> {
    releaseWhenDone(await this.enter(request, target, response), response);
  }

  /**
   * Returns the connection of a request that may go on; throws the refusal of one that may not.
   * `target` is what the router goes by.
   */
  async enter(
    request: FrameworkRequest,
    target: string,
    response: ServerResponse,
  ): Promise<GatewayAnswer> {
    const host = request.hostname ?? request.headers.host;
    const { match, isAmbiguous } = this.gateway.find(host, target);
    if (isAmbiguous) throw new BadRequestException('Ambiguous path.');
    const answer = await this.gateway.admit(match, this.#clientOf(request));
    if (!response.headersSent) this.#writeHeaders(answer, request, response);
    if (!answer.allowed) throw this.#refusal(answer, response);
    return answer;
  }

  /** The key by which the client is counted. */
  #clientOf(request: FrameworkRequest): string {
    const address = resolveKey(this.resolvers.from('ip'), request);
    // A socket that is closed already has no address. Such requests share the key `unknown`.
    return address === undefined || isPending(address) ? 'unknown' : address;
  }

  #writeHeaders(answer: GatewayAnswer, request: FrameworkRequest, response: ServerResponse): void {
    const set = (name: string, value: string) => void response.setHeader(name, value);
    const { headers: style } = this.options;
    const written = newToldHeaders();
    writeHeaders(answer, written, { style, memo: this.#memo, set });
    rememberTold(request, written);
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
