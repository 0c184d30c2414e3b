import type { ServerResponse } from 'node:http';
import type { ExecutionContext } from '@nestjs/common';
import { Inject, Injectable } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { isPending } from '../core/awaitable.js';
import type { Awaitable } from '../core/awaitable.js';
import type { KeyResolver, Phase, RequestSource } from '../core/keys/key-resolver.js';
import { resolveKey } from '../core/keys/key-resolver.js';
import { KeyResolvers } from '../core/keys/key-resolvers.js';
import type { Lease } from '../core/lease.js';
import type { PlanReference } from '../core/rate-limiter.js';
import { RateLimiter } from '../core/rate-limiter.js';
import { toLinks } from './chain-options.js';
import type { HandlerChains, ReadyChain, ReadyLink } from './handler-chains.js';
import { HandlerChainsReader } from './handler-chains.js';
import { MissingKeyException } from './missing-key.exception.js';
import { RateLimitExceededException } from './rate-limit-exceeded.exception.js';
import type { ToldHeaders } from './rate-limit-headers.js';
import { writeHeaders } from './rate-limit-headers.js';
import type { CheckedOptions } from './rate-limit-options.js';
import { CHECKED_OPTIONS } from './rate-limit.module-definition.js';

/** What is known of a request after the first enforcement point has seen it. */
interface RequestState extends ToldHeaders {
  /** The handler whose chains were enforced last in each phase, so that none is charged twice. */
  guard: HandlerChains | undefined;
  interceptor: HandlerChains | undefined;
}

const STATE = Symbol('nestjs-floodgate:request');

type LimitedRequest = RequestSource & { [STATE]?: RequestState };

/** Every link of a chain has a key of its own. */
const NO_COMMON_KEY = '';

/** Enforces the chains of a handler. The guard and the interceptor both ask here. */
@Injectable()
export class RateLimitEnforcer {
  readonly #ip: KeyResolver;

  constructor(
    private readonly limiter: RateLimiter,
    private readonly chains: HandlerChainsReader,
    resolvers: KeyResolvers,
    private readonly adapterHost: HttpAdapterHost,
    @Inject(CHECKED_OPTIONS) private readonly options: CheckedOptions,
  ) {
    this.#ip = resolvers.from('ip');
  }

  /** Returns, or throws what the caller is to be told. Undefined when there was nothing to do. */
  enforce(context: ExecutionContext, phase: Phase): Promise<void> | undefined {
    if (context.getType() !== 'http') return undefined;
    const chains = this.chains.of(context);
    if (chains[phase].length === 0) return undefined;
    const request = context.switchToHttp().getRequest<LimitedRequest>();
    const state = (request[STATE] ??= newState());
    if (state[phase] === chains) return undefined;
    state[phase] = chains;
    return this.#decide(chains[phase], request, state, context);
  }

  async #decide(
    chains: readonly ReadyChain[],
    request: LimitedRequest,
    state: RequestState,
    context: ExecutionContext,
  ): Promise<void> {
    const references: PlanReference[] = [];
    for (const chain of chains) {
      const adding = this.#addChain(references, chain, request, context);
      if (isPending(adding)) await adding;
    }
    if (references.length === 0) return;
    const lease = await this.limiter.acquire(NO_COMMON_KEY, references);
    const response: unknown = context.switchToHttp().getResponse();
    const { httpAdapter } = this.adapterHost;
    writeHeaders(this.options.headers, lease, state, (name, value) =>
      httpAdapter.setHeader(response, name, value),
    );
    if (!lease.allowed) this.#refuse(lease, response);
    if (lease.held) releaseWhenDone(lease, response);
  }

  #refuse(lease: Lease, response: unknown): never {
    const { problemDetails } = this.options;
    if (problemDetails) {
      this.adapterHost.httpAdapter.setHeader(response, 'Content-Type', 'application/problem+json');
    }
    throw new RateLimitExceededException(lease, problemDetails);
  }

  #addChain(
    references: PlanReference[],
    chain: ReadyChain,
    request: LimitedRequest,
    context: ExecutionContext,
  ): Awaitable<void> {
    const { links, tokens, resolver } = chain;
    if (!links || typeof tokens === 'function' || !links.every((l) => l.resolver === resolver)) {
      return this.#addChainSlowly(references, chain, request, context);
    }
    // One key, nothing to compute: the usual case takes no turn of the event loop.
    const key = resolveKey(resolver, request, context);
    if (isPending(key)) return this.#addChainSlowly(references, chain, request, context);
    const known = key ?? this.#keyInstead(chain, request);
    if (known === undefined) return;
    for (const link of links) references.push(referenceTo(link, chain, known, tokens));
  }

  async #addChainSlowly(
    references: PlanReference[],
    chain: ReadyChain,
    request: LimitedRequest,
    context: ExecutionContext,
  ): Promise<void> {
    const links = chain.links ?? (await this.#choose(chain, request, context));
    const tokens =
      typeof chain.tokens === 'function' ? await chain.tokens(request, context) : chain.tokens;
    for (const link of links) {
      const key = await resolveKey(link.resolver, request, context);
      const known = key ?? this.#keyInstead(chain, request);
      if (known !== undefined) references.push(referenceTo(link, chain, known, tokens));
    }
  }

  async #choose(
    { choose, resolver }: ReadyChain,
    request: LimitedRequest,
    context: ExecutionContext,
  ): Promise<readonly ReadyLink[]> {
    const plans = await choose?.(request, context);
    if (plans === undefined || plans === null) return [];
    return toLinks(plans).map((link) => this.chains.link(link, resolver));
  }

  /** The key of a request that has none; undefined when it is not to be limited. */
  #keyInstead(chain: ReadyChain, request: LimitedRequest): string | undefined {
    const policy = chain.onMissingKey ?? this.options.onMissingKey;
    if (policy === 'skip') return undefined;
    const address = policy === 'ip' ? resolveKey(this.#ip, request) : undefined;
    // Never a bucket that strangers share, so without an address there is nothing left but no.
    if (address === undefined || isPending(address)) throw new MissingKeyException();
    return address;
  }
}

function newState(): RequestState {
  return {
    guard: undefined,
    interceptor: undefined,
    policy: '',
    state: '',
    legacyRemaining: Number.POSITIVE_INFINITY,
  };
}

function referenceTo(
  link: ReadyLink,
  chain: ReadyChain,
  key: string,
  tokens: number,
): PlanReference {
  return { plan: link.plan, key: chain.routePrefix + key, tokens: link.tokens ?? tokens };
}

/**
 * Gives the slots back once, however the exchange ends: answered, failed, streamed to its end, or
 * left by the client.
 */
function releaseWhenDone(lease: Lease, response: unknown): void {
  const raw = (response as { raw?: ServerResponse }).raw ?? (response as ServerResponse);
  const release = () => void lease.release();
  if (raw.closed || raw.writableFinished) {
    release();
    return;
  }
  raw.once('finish', release);
  raw.once('close', release);
}
