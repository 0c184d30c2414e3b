import type { OnModuleInit, Type } from '@nestjs/common';
import { Injectable, Logger } from '@nestjs/common';
import { PATH_METADATA } from '@nestjs/common/constants.js';
import { ModulesContainer } from '@nestjs/core';
import { RateLimitError } from '../core/errors.js';
import { PlanBook } from '../core/plan-book.js';
import { PlanRegistry } from '../core/plan-registry.js';
import { Observation } from '../observe/observation.js';
import { classesIn, methodsOf } from './container-classes.js';
import type { ReadyChain } from './handler-chains.js';
import { HandlerChainsReader, locate } from './handler-chains.js';
import { CONNECTION_METADATA } from './metadata.js';
import { watchSlots } from './slots/slot-watch.js';
import type { Transport } from './transports/transport.js';
import { Transports } from './transports/transports.js';

/** Checks every decorated handler at start, so that a misspelt plan does not boot. */
@Injectable()
export class RateLimitExplorer implements OnModuleInit {
  readonly #logger = new Logger('RateLimit');
  readonly #plans: PlanBook;
  /** Limited handlers by what the log calls them. */
  readonly #found = new Map<string, number>();

  constructor(
    private readonly modules: ModulesContainer,
    private readonly chains: HandlerChainsReader,
    private readonly transports: Transports,
    private readonly observation: Observation,
    registry: PlanRegistry,
  ) {
    this.#plans = new PlanBook(registry);
  }

  async onModuleInit(): Promise<void> {
    for (const controller of classesIn(this.modules)) {
      for (const handler of methodsOf(controller).values()) {
        await this.#check(controller, handler);
      }
    }
    this.#report();
  }

  /**
   * Lets routes be watched whose slots the guard may take. Only those: an interceptor that does
   * nothing still costs a third of the requests per second of a bare Fastify route.
   */
  async watchSlots(): Promise<void> {
    for (const controller of classesIn(this.modules)) {
      for (const handler of [...methodsOf(controller).values()].filter(isRoute)) {
        const { guard, seesHandlerEnd } = this.chains.read(controller, handler);
        if (!seesHandlerEnd && (await this.#mayLend(guard))) watchSlots(handler);
      }
    }
  }

  /** A plan that cannot be found yet may be one that lends. */
  async #mayLend(chains: readonly ReadyChain[]): Promise<boolean> {
    for (const { links } of chains) {
      if (!links) return true;
      for (const { plan } of links) {
        try {
          if ((await this.#plans.find(plan)).kind === 'concurrency') return true;
        } catch {
          return true;
        }
      }
    }
    return false;
  }

  async #check(controller: Type, handler: Function): Promise<void> {
    const read = this.chains.read(controller, handler);
    const chains = [...read.guard, ...read.interceptor];
    if (chains.length === 0) return;
    const transport = this.transports.for(controller, handler);
    try {
      await transport?.prepare();
      for (const chain of chains) {
        if (transport && chain.refundOn && !isRoute(handler)) throw outcomeUnknown();
        await this.#checkPlans(chain, isEndless(chain, transport, handler));
      }
    } catch (error) {
      throw error instanceof RateLimitError ? locate(error, controller, handler) : error;
    }
    const isReached = transport?.add?.(controller, handler, read) ?? true;
    this.#count(handler, isReached ? transport : undefined);
  }

  async #checkPlans({ links = [], tokens }: ReadyChain, endless: boolean): Promise<void> {
    for (const link of links) {
      const plan = await this.#plans.find(link.plan);
      // What a decorator names has its metrics from the start.
      this.observation.tally.policies.declare(plan);
      if (endless && plan.kind === 'concurrency') throw endlessSlot(plan.name);
      const cost = link.tokens ?? (typeof tokens === 'number' ? tokens : 1);
      if (plan.quota <= 0 || plan.kind === 'concurrency' || cost <= plan.quota) continue;
      throw new RateLimitError(
        'INVALID_TOKENS',
        `no request can ever pass: it costs ${cost} tokens and plan "${plan.name}" holds ` +
          `${plan.quota}. Lower tokens or raise the plan.`,
      );
    }
  }

  #count(handler: Function, transport: Transport | undefined): void {
    // In a hybrid application one method may be both.
    const names = [isRoute(handler) ? 'HTTP route' : undefined, transport?.handlerNameOf(handler)];
    for (const name of names) {
      if (name !== undefined) this.#found.set(name, (this.#found.get(name) ?? 0) + 1);
    }
  }

  /** One line that says what is covered, so that what is missing can be seen. */
  #report(): void {
    for (const warning of this.transports.warnings()) this.#logger.warn(warning);
    if (this.#found.size === 0) return;
    const found = [...this.#found].map(
      ([name, count]) => `${count} ${name}${count === 1 ? '' : 's'}`,
    );
    this.#logger.log(`Limits cover ${found.join(', ')}.`);
  }
}

function isRoute(handler: Function): boolean {
  return Reflect.hasMetadata(PATH_METADATA, handler);
}

function outcomeUnknown(): RateLimitError {
  return new RateLimitError(
    'INVALID_OPTION',
    'refundOn is asked once an HTTP response is over, and a message has none: it would never be. ' +
      'Leave it out, or refund in the handler (RateLimiter.refund).',
  );
}

/** Whether what the chain takes could not be given back: a guard does not see a message end. */
function isEndless(
  chain: ReadyChain,
  transport: Transport | undefined,
  handler: Function,
): boolean {
  const isConnection = Reflect.hasMetadata(CONNECTION_METADATA, handler);
  return transport !== undefined && chain.phase === 'guard' && !isConnection;
}

function endlessSlot(plan: string): RateLimitError {
  return new RateLimitError(
    'INVALID_OPTION',
    `plan "${plan}" lends slots, and only the interceptor sees where a message ends. ` +
      `Write phase: 'interceptor'.`,
  );
}
