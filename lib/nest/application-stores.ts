import { Logger } from '@nestjs/common';
import type { DocumentStore } from '../core/document-store.js';
import { isDocumentStore } from '../core/document-store.js';
import { InvalidOptionError } from '../core/errors.js';
import type { LimitStore } from '../core/limit-store.js';
import { MemoryStore } from '../memory/memory-store.js';
import { MonotonicClock } from '../memory/monotonic-clock.js';
import type { Observation } from '../observe/observation.js';
import { createRedisStores } from '../redis/create-redis-stores.js';
import { HealthListeners } from './health-listeners.js';
import type { CheckedOptions } from './rate-limit-options.js';
import { StoreHealthLogger } from './store-health.logger.js';

/** The stores of an application: what it has of each port. */
export interface Stores {
  readonly limits: LimitStore;
  /** Undefined where a store of the user's own keeps no documents. */
  readonly documents: DocumentStore | undefined;
}

/** Makes the stores that the options ask for, when they are first needed: tests may replace them. */
export class ApplicationStores {
  #stores: Promise<Stores> | undefined;

  constructor(
    private readonly options: CheckedOptions,
    private readonly observation: Observation,
  ) {}

  async limits(): Promise<LimitStore> {
    this.#stores ??= this.#create();
    return (await this.#stores).limits;
  }

  /** The documents that go with the store of limits in use, which may be another than made here. */
  async documentsFor(limits: LimitStore): Promise<DocumentStore | undefined> {
    const made = await this.#stores;
    if (made?.limits === limits) return made.documents;
    return isDocumentStore(limits) ? limits : undefined;
  }

  async #create(): Promise<Stores> {
    const { store, redis, clock = new MonotonicClock(), maxLimits } = this.options;
    if (store && redis) throw new InvalidOptionError('redis', 'left out beside `store`', 'both');
    if (store) return { limits: store, documents: isDocumentStore(store) ? store : undefined };
    const memory = new MemoryStore(clock, maxLimits);
    if (redis === undefined) return { limits: memory, documents: memory };
    const { outbound, gateway, sharedChanges } = this.options;
    const publishes = outbound !== undefined || gateway !== undefined || sharedChanges;
    const { health, operations } = this.observation;
    const logger = new Logger('RateLimit');
    return createRedisStores(
      redis,
      { ...this.options, publishes, booksTurns: outbound !== undefined },
      {
        ...{ local: memory, operations },
        health: new HealthListeners([new StoreHealthLogger(), health]),
        warn: (warning) => logger.warn(warning),
      },
    );
  }
}
