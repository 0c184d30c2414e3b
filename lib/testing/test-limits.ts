import { LimitStore } from '../core/limit-store.js';
import { MemoryStore } from '../memory/memory-store.js';
import { TestClock } from './test-clock.js';

/** As much of `TestingModuleBuilder` of `@nestjs/testing` as is needed. */
export interface ProviderOverrides {
  /** Begins to replace a provider, as `TestingModuleBuilder` does. */
  overrideProvider(token: typeof LimitStore): { useValue(value: LimitStore): unknown };
}

/**
 * Limits in the hands of a test: an application in which they are installed counts in the process,
 * whatever its options say, and on a clock that stands still until the test moves it.
 *
 * ```ts
 * const limits = new TestLimits();
 * const module = await limits.install(Test.createTestingModule({ imports: [AppModule] })).compile();
 * beforeEach(() => limits.reset());
 * ```
 */
export class TestLimits {
  /** What the limits go by. Calls to others still wait in real time. */
  readonly clock = new TestClock();
  readonly #store = new MemoryStore(this.clock);

  /** Puts the limits of an application that is about to be compiled into this test's hands. */
  install<Builder extends ProviderOverrides>(builder: Builder): Builder {
    builder.overrideProvider(LimitStore).useValue(this.#store);
    return builder;
  }

  /** Moves on by so many milliseconds: tokens come back, windows slide, leases end. */
  advance(ms: number): void {
    this.clock.advance(ms);
  }

  /** Forgets everything that was spent or lent. */
  reset(): void {
    this.#store.clear();
  }
}
