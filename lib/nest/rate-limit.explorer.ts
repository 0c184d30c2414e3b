import type { OnModuleInit, Type } from '@nestjs/common';
import { Injectable } from '@nestjs/common';
import { MetadataScanner, ModulesContainer } from '@nestjs/core';
import { RateLimitError } from '../core/errors.js';
import { PlanBook } from '../core/plan-book.js';
import { PlanRegistry } from '../core/plan-registry.js';
import type { ReadyChain } from './handler-chains.js';
import { HandlerChainsReader, locate } from './handler-chains.js';

/** Checks every decorated handler at start, so that a misspelt plan does not boot. */
@Injectable()
export class RateLimitExplorer implements OnModuleInit {
  readonly #scanner = new MetadataScanner();
  readonly #plans: PlanBook;

  constructor(
    private readonly modules: ModulesContainer,
    private readonly chains: HandlerChainsReader,
    registry: PlanRegistry,
  ) {
    this.#plans = new PlanBook(registry);
  }

  async onModuleInit(): Promise<void> {
    for (const controller of this.#classes()) {
      for (const handler of this.#handlersOf(controller)) await this.#check(controller, handler);
    }
  }

  #classes(): Set<Type> {
    const classes = new Set<Type>();
    for (const module of this.modules.values()) {
      for (const { metatype } of [...module.controllers.values(), ...module.providers.values()]) {
        if (typeof metatype === 'function' && metatype.prototype) classes.add(metatype as Type);
      }
    }
    return classes;
  }

  #handlersOf({ prototype }: Type): Function[] {
    return this.#scanner
      .getAllMethodNames(prototype as object)
      .map((name) => (prototype as Record<string, unknown>)[name] as Function);
  }

  async #check(controller: Type, handler: Function): Promise<void> {
    const { guard, interceptor } = this.chains.read(controller, handler);
    for (const chain of [...guard, ...interceptor]) {
      try {
        await this.#checkPlans(chain);
      } catch (error) {
        throw error instanceof RateLimitError ? locate(error, controller, handler) : error;
      }
    }
  }

  async #checkPlans({ links = [], tokens }: ReadyChain): Promise<void> {
    for (const link of links) {
      const plan = await this.#plans.find(link.plan);
      const cost = link.tokens ?? (typeof tokens === 'number' ? tokens : 1);
      if (plan.quota <= 0 || plan.kind === 'concurrency' || cost <= plan.quota) continue;
      throw new RateLimitError(
        'INVALID_TOKENS',
        `no request can ever pass: it costs ${cost} tokens and plan "${plan.name}" holds ` +
          `${plan.quota}. Lower tokens or raise the plan.`,
      );
    }
  }
}
