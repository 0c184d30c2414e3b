import type { LimitStore } from '../../lib/core/limit-store.js';
import { MemoryStore } from '../../lib/memory/memory-store.js';
import { AdaptiveThrottler } from '../../lib/outbound/adaptive-throttler.js';
import { withClassifiers } from '../../lib/outbound/classifiers.js';
import type { DomainBookOptions } from '../../lib/outbound/domain-book.js';
import { DomainBook } from '../../lib/outbound/domain-book.js';
import { LateGateWatch } from '../../lib/outbound/late-gate-watch.js';
import { OutboundFetch } from '../../lib/outbound/outbound-fetch.js';
import { OutboundLimiter } from '../../lib/outbound/outbound-limiter.js';
import type { OutboundRulesOptions } from '../../lib/outbound/outbound-rules.js';
import { OutboundRules } from '../../lib/outbound/outbound-rules.js';
import { FakeTicker } from './fake-ticker.js';

/** What a test may want otherwise. */
export interface OutboundStageOptions extends OutboundRulesOptions, Partial<DomainBookOptions> {
  readonly ticker?: FakeTicker;
  readonly store?: LimitStore;
  readonly random?: () => number;
  /** Names the process where several share the store. */
  readonly holder?: string;
}

let leases = 0;

/** The outbound side on a store, with time that the test moves. */
export class OutboundStage {
  readonly ticker: FakeTicker;
  readonly store: LimitStore;
  readonly book: DomainBook;
  readonly throttler: AdaptiveThrottler;
  readonly limiter: OutboundLimiter;

  constructor(options: OutboundStageOptions = {}) {
    this.ticker = options.ticker ?? new FakeTicker();
    this.store = options.store ?? new MemoryStore(this.ticker.clock);
    const watch = new LateGateWatch(this.store);
    const { ticker, store } = this;
    const rules = new OutboundRules({
      default: options.default ?? { requestsPerSecond: 10, burstCapacity: 2 },
      domains: options.domains ?? {},
    });
    const { holder } = options;
    const newLeaseId = () => `${holder ?? 'lease'}:${leases++}`;
    this.book = new DomainBook(
      rules,
      {
        ...{ store, watch, ticker, newLeaseId, holder },
        onShut: (name, shut) => this.throttler.hearShut(name, shut),
      },
      {
        throttle: options.throttle ?? {},
        onStoreFailure: 'local',
        maxDomains: options.maxDomains ?? 1_000,
        idleMs: options.idleMs ?? 3_600_000,
        slotLeaseMs: options.slotLeaseMs ?? 12_000,
      },
    );
    this.throttler = new AdaptiveThrottler(this.book, store, options.random ?? (() => 0.5));
    const timeMs = () => ticker.nowMs();
    const fetch = new OutboundFetch({
      ...{ throttler: this.throttler, fetch: globalThis.fetch, classify: withClassifiers([]) },
      ...{ readsBodies: false, heedsUpstreamLimits: true, timeMs },
    });
    this.limiter = new OutboundLimiter({
      ...{ book: this.book, throttler: this.throttler, fetch, timeMs },
      timeoutMs: Number.POSITIVE_INFINITY,
    });
    watch.listen(
      (key, state) => {
        const domain = this.book.find(key);
        if (domain) this.throttler.hear(domain, state);
      },
      () => void this.throttler.catchUp(),
    );
  }
}
