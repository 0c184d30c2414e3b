import type { ExecutionContext, Type } from '@nestjs/common';
import { Injectable } from '@nestjs/common';
import { checked } from '../core/check/check.js';
import { object } from '../core/check/containers.js';
import { optionError } from '../core/check/mistake.js';
import { checkTokens } from '../core/check/tokens.js';
import { aFunction, checkedLater, oneOf, optional } from '../core/check/values.js';
import { InvalidOptionError, RateLimitError } from '../core/errors.js';
import type { KeyResolver, Phase } from '../core/keys/key-resolver.js';
import { KeyResolvers } from '../core/keys/key-resolvers.js';
import type { ChainOptions, PlanLink, RefundCondition, RequestFunction } from './chain-options.js';
import { linksOf, mayNeedInterceptor } from './chain-options.js';
import { CHAINS_METADATA, SKIP_METADATA, SLOT_WATCH_METADATA } from './metadata.js';
import type { MissingKeyPolicy } from './rate-limit-options.js';
import { missingKeyPolicy } from './rate-limit-options.js';
import { HeaderMemo } from './rate-limit-headers.js';
import { routeId } from './route-id.js';

/** A plan of a chain with everything looked up that can be. */
export interface ReadyLink {
  readonly plan: string;
  readonly resolver: KeyResolver;
  /** Tokens of its own, where they differ from those of the chain. */
  readonly tokens: number | undefined;
}

/** A chain with everything looked up that can be before a request is there. */
export interface ReadyChain {
  readonly phase: Phase;
  /** The plans that are written down; undefined when `choose` chooses them. */
  readonly links: readonly ReadyLink[] | undefined;
  readonly choose:
    Exclude<ChainOptions['plan'], PlanLink | readonly PlanLink[] | undefined> | undefined;
  readonly resolver: KeyResolver;
  /** Whether every plan counts by that resolver. */
  readonly oneKey: boolean;
  readonly tokens: number | RequestFunction<number>;
  /** Stands before the key when each route has buckets of its own. */
  readonly routePrefix: string;
  readonly onMissingKey: MissingKeyPolicy | undefined;
  readonly refundOn: RefundCondition | undefined;
}

/** The chains of one handler, by where they are enforced. */
export interface HandlerChains {
  readonly guard: readonly ReadyChain[];
  readonly interceptor: readonly ReadyChain[];
  /** Whether how a request ends may give it its tokens back. */
  readonly refunds: boolean;
  /** Whether an interceptor sees the handler end, so that slots of the guard can wait for that. */
  readonly seesHandlerEnd: boolean;
  /** What warnings call the handler: `CatsController.find`. */
  readonly name: string;
  /** What its last caller was told. */
  readonly headers: HeaderMemo;
}

const chainOptions = object<ChainOptions>(
  {
    // Plans, keys and tokens are checked where they are looked up.
    plan: checkedLater(),
    key: checkedLater(),
    tokens: checkedLater(),
    phase: optional(oneOf('guard', 'interceptor')),
    scope: optional(oneOf('shared', 'route')),
    onMissingKey: optional(missingKeyPolicy),
    refundOn: optional(aFunction<RefundCondition>('a function of the outcome')),
  },
  { expected: 'given a plan, a list of plans or fields' },
);
const linkFields = object<Exclude<PlanLink, string>>({
  plan: checkedLater(),
  key: checkedLater(),
  tokens: checkedLater(),
});
const NONE: HandlerChains = {
  guard: [],
  interceptor: [],
  refunds: false,
  seesHandlerEnd: false,
  name: '',
  headers: new HeaderMemo(),
};

/** Reads the decorators of handlers, each once. */
@Injectable()
export class HandlerChainsReader {
  /** A handler can be inherited by several controllers that are decorated differently. */
  readonly #read = new Map<Function, Map<Type, HandlerChains>>();

  /** Whose route each id is: RouterModule can mount two controllers that are written alike. */
  readonly #routes = new Map<string, Type>();

  constructor(private readonly resolvers: KeyResolvers) {}

  /** The chains of the handler that is about to run. */
  of(context: ExecutionContext): HandlerChains {
    const handler = context.getHandler();
    const controller = context.getClass();
    return this.#read.get(handler)?.get(controller) ?? this.read(controller, handler);
  }

  /** Reads and checks the chains of a handler. */
  read(controller: Type, handler: Function): HandlerChains {
    const merged = isSkipped(controller, handler) ? [] : mergedChains(controller, handler);
    const chains = merged.map((chain) => this.#ready(chain, controller, handler));
    const read: HandlerChains =
      chains.length === 0
        ? NONE
        : {
            guard: chains.filter(({ phase }) => phase === 'guard'),
            interceptor: chains.filter(({ phase }) => phase === 'interceptor'),
            refunds: chains.some(({ refundOn }) => refundOn !== undefined),
            seesHandlerEnd: isWatched(controller, handler),
            name: `${controller.name}.${handler.name}`,
            headers: new HeaderMemo(),
          };
    this.#remember(controller, handler, read);
    return read;
  }

  /** A plan of a chain, once it is known. */
  link(link: PlanLink, fallback: KeyResolver): ReadyLink {
    if (typeof link === 'string') return { plan: link, resolver: fallback, tokens: undefined };
    if (typeof link?.plan !== 'string') {
      throw new InvalidOptionError('plan', 'the name of a plan or { plan, key, tokens }', link);
    }
    checked(linkFields, link, optionError);
    const resolver = link.key === undefined ? fallback : this.resolvers.from(link.key);
    if (link.tokens !== undefined) checkTokens(link.tokens);
    return { plan: link.plan, resolver, tokens: link.tokens };
  }

  #ready(chain: ChainOptions, controller: Type, handler: Function): ReadyChain {
    try {
      return this.#checked(chain, controller, handler);
    } catch (error) {
      throw error instanceof RateLimitError ? locate(error, controller, handler) : error;
    }
  }

  #checked(chain: ChainOptions, controller: Type, handler: Function): ReadyChain {
    checkChain(chain);
    const { plan, key = 'ip', tokens = 1, scope, onMissingKey, refundOn } = chain;
    const resolver = this.resolvers.from(key);
    const links = linksOf(plan)?.map((link) => this.link(link, resolver));
    if (links?.length === 0) throw new InvalidOptionError('plan', 'one plan or more', plan);
    const choose = typeof plan === 'function' ? plan : undefined;
    const late =
      choose !== undefined ||
      typeof tokens === 'function' ||
      [resolver, ...(links ?? []).map((link) => link.resolver)].some(isLate);
    return {
      phase: chain.phase ?? (late ? 'interceptor' : 'guard'),
      links,
      choose,
      resolver,
      oneKey: (links ?? []).every((link) => link.resolver === resolver),
      tokens,
      routePrefix: scope === 'route' ? `route:${this.#routeId(controller, handler)}:` : '',
      onMissingKey,
      refundOn,
    };
  }

  /** Numbered where it would be taken: in the order of the modules, the same in every process. */
  #routeId(controller: Type, handler: Function): string {
    const plain = routeId(controller, handler);
    for (let number = 1; ; number++) {
      const id = number === 1 ? plain : `${plain}~${number}`;
      const owner = this.#routes.get(id) ?? controller;
      this.#routes.set(id, owner);
      if (owner === controller) return id;
    }
  }

  #remember(controller: Type, handler: Function, chains: HandlerChains): void {
    const byController = this.#read.get(handler) ?? new Map<Type, HandlerChains>();
    this.#read.set(handler, byController.set(controller, chains));
  }
}

/** Whether a handler is limited at all, by its own decorators or those of its class. */
export function isLimited(controller: Type, handler: Function): boolean {
  const isDecorated = [controller, handler].some((one) =>
    Reflect.hasMetadata(CHAINS_METADATA, one),
  );
  return isDecorated && !isSkipped(controller, handler);
}

/** Says in which handler a mistake is. */
export function locate(error: RateLimitError, controller: Type, handler: Function): RateLimitError {
  const place = `@RateLimit on ${controller.name}.${handler.name}`;
  return new RateLimitError(error.code, `${place}: ${error.message}`, error.path);
}

/** Whether an interceptor is attached: the watch of slots, or that of rate limits by a decorator. */
function isWatched(controller: Type, handler: Function): boolean {
  if (Reflect.hasMetadata(SLOT_WATCH_METADATA, handler)) return true;
  return [controller, handler].some((one) => {
    const chains = (Reflect.getMetadata(CHAINS_METADATA, one) ?? []) as ChainOptions[];
    return chains.some(mayNeedInterceptor);
  });
}

/** The first decorator of the method is laid over the first of the class, and so on. */
export function mergedChains(controller: Type, handler: Function): ChainOptions[] {
  const ofClass = (Reflect.getMetadata(CHAINS_METADATA, controller) ?? []) as ChainOptions[];
  const ofMethod = (Reflect.getMetadata(CHAINS_METADATA, handler) ?? []) as ChainOptions[];
  const count = Math.max(ofClass.length, ofMethod.length);
  return Array.from({ length: count }, (_, i) => {
    const [below, above] = [ofClass[i], ofMethod[i]];
    return isFields(below) && isFields(above)
      ? { ...below, ...definedFields(above) }
      : (above ?? below)!;
  });
}

/** Whether `@SkipRateLimit()` leaves a handler out; the word of the method counts before its class. */
export function isSkipped(controller: Type, handler: Function): boolean {
  const skip: unknown =
    Reflect.getMetadata(SKIP_METADATA, handler) ?? Reflect.getMetadata(SKIP_METADATA, controller);
  return skip === true;
}

function isLate({ phase }: KeyResolver): boolean {
  return phase === 'interceptor';
}

function isFields(chain: unknown): chain is ChainOptions {
  return typeof chain === 'object' && chain !== null;
}

/** A field that is undefined says nothing, so it wins over nothing. */
function definedFields(chain: ChainOptions): ChainOptions {
  return Object.fromEntries(Object.entries(chain).filter(([, value]) => value !== undefined));
}

function checkChain(chain: ChainOptions): void {
  const { tokens = 1 } = checked(chainOptions, chain, (one) => optionError(one, '@RateLimit()'));
  if (typeof tokens !== 'function') checkTokens(tokens);
}
