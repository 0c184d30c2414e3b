import { randomBytes, randomUUID } from 'node:crypto';
import type { OnApplicationShutdown } from '@nestjs/common';
import { Logger } from '@nestjs/common';
import { AdaptiveThrottler } from '../outbound/adaptive-throttler.js';
import { withClassifiers } from '../outbound/classifiers.js';
import { DomainBook } from '../outbound/domain-book.js';
import type { RuleExplanation } from '../outbound/explain-rules.js';
import { byName, explainRules } from '../outbound/explain-rules.js';
import { LateGateWatch } from '../outbound/late-gate-watch.js';
import { OutboundFetch } from '../outbound/outbound-fetch.js';
import { OutboundFileWatcher } from '../outbound/outbound-file-watcher.js';
import { readOutboundFile } from '../outbound/outbound-file.js';
import { OutboundLimiter } from '../outbound/outbound-limiter.js';
import type { DomainRule, OutboundRulesOptions } from '../outbound/outbound-rules.js';
import { OutboundRules } from '../outbound/outbound-rules.js';
import type { RuleChanges } from '../outbound/shared-rules.js';
import { explainRuleChanges, withRuleChanges } from '../outbound/shared-rules.js';
import type { RuleView } from '../outbound/rule-view.js';
import { viewRules } from '../outbound/rule-view.js';
import { SystemTicker } from '../outbound/ticker.js';
import type { CheckedOutboundOptions } from './outbound-options.js';
import type { SideTies } from './observed.js';

/** The outbound side of an application, put together. */
export class Outbound implements OnApplicationShutdown {
  readonly limiter: OutboundLimiter;
  readonly throttler: AdaptiveThrottler;
  readonly #book: DomainBook;
  readonly #watch: LateGateWatch;
  readonly #logger = new Logger('RateLimit');
  #file: OutboundFileWatcher | undefined;
  #inFile: OutboundRulesOptions = {};
  #changes: RuleChanges = new Map();
  #explained: readonly RuleExplanation[] | undefined;

  constructor(
    private readonly options: CheckedOutboundOptions,
    private readonly ties: SideTies,
  ) {
    const { store, keeper, observation } = ties;
    const { throttle, onStoreFailure, maxDomains, idleMs, timeoutMs, slotLeaseMs } = options;
    const holder = store.answersAtOnce ? undefined : randomBytes(9).toString('base64url');
    this.#watch = new LateGateWatch(store);
    this.#book = new DomainBook(
      this.#rulesWith({}),
      {
        ...{ store, keeper, watch: this.#watch, ticker: new SystemTicker() },
        holder,
        // By its beginning the others know whose it is.
        newLeaseId: () => (holder === undefined ? randomUUID() : `${holder}:${randomUUID()}`),
        onShut: (name, shut) => this.throttler.hearShut(name, shut),
      },
      { throttle, onStoreFailure, maxDomains, idleMs, slotLeaseMs },
    );
    this.throttler = new AdaptiveThrottler(this.#book, store);
    const fetch = new OutboundFetch({
      throttler: this.throttler,
      fetch: options.fetch,
      classify: withClassifiers(options.classifiers),
      readsBodies: options.classifiers.length > 0,
      heedsUpstreamLimits: options.heedUpstreamLimits,
      timeMs: Date.now,
    });
    const { throttler } = this;
    this.limiter = new OutboundLimiter({
      ...{ book: this.#book, throttler, fetch, timeoutMs },
      timeMs: Date.now,
      ...(observation && { listener: observation.outbound }),
    });
    this.#observeCooldowns();
    this.#watch.listen(
      (key, state) => {
        const domain = this.#book.find(key);
        if (domain) throttler.hear(domain, state);
      },
      () => void throttler.catchUp(),
    );
  }

  /** What is going on, rule by rule. */
  view(): readonly RuleView[] {
    return viewRules(this.#book.all(), this.#book.nowMs());
  }

  /** The rules that count, the default first, and where each of them came from. */
  explain(): readonly RuleExplanation[] {
    return (this.#explained ??= explainRuleChanges(
      explainRules(this.options, this.#inFile),
      this.#changes,
    ));
  }

  /** The rule of that name that counts now. */
  ruleOf(source: string): DomainRule | undefined {
    return this.#book.rules.find(source);
  }

  /** Reads the file of rules, if there is one. A bad one keeps the application from starting. */
  async start(): Promise<this> {
    await this.#readFile();
    this.#declareRules();
    return this;
  }

  /** Lays rules that were changed while running over those of the file and the code. */
  async overlay(changes: RuleChanges): Promise<void> {
    const before = this.#changes;
    this.#changes = changes;
    try {
      await this.#changeAndTell(this.#inFile, 'Outbound rules were changed');
    } catch (error) {
      this.#changes = before;
      this.#keepRules(error as Error);
    }
  }

  onApplicationShutdown(): void {
    this.#file?.close();
    this.limiter.close('The application is shutting down.');
    this.#watch.close();
  }

  async #readFile(): Promise<void> {
    const { file, watch } = this.options;
    if (file === undefined) return;
    if (!watch) return this.#change(await readOutboundFile(file));
    this.#file = new OutboundFileWatcher(file, {
      onChange: (rules) => {
        this.#changeAndTell(rules, 'Outbound rules were read again').catch((error: Error) =>
          this.#keepRules(error),
        );
      },
      onError: (error) => this.#keepRules(error),
    });
    await this.#change(await this.#file.start());
  }

  /** Rules that are written have their metrics from the start. */
  #declareRules(): void {
    const { default: standard, domains, file } = this.options;
    if (standard === undefined && domains === undefined && file === undefined) return;
    const { observation } = this.ties;
    for (const source of this.#book.rules.sources()) observation?.outbound.declare(source);
  }

  #observeCooldowns(): void {
    const { observation } = this.ties;
    if (!observation) return;
    const ruleOf = (domain: string) => this.#book.use(domain).found.source;
    this.throttler.events.on('cooldown', ({ domain, cooldownMs }) =>
      observation.noteCooldown(ruleOf(domain), domain, cooldownMs),
    );
    this.throttler.events.on('recovered', ({ domain }) =>
      observation.noteCooldown(ruleOf(domain), domain, 0),
    );
  }

  #keepRules({ message }: Error): void {
    this.ties.observation?.config.refused('outbound', message);
    this.#logger.error(`The rules stay as they are: ${message}`);
  }

  async #changeAndTell(rules: OutboundRulesOptions, what: string): Promise<void> {
    const before = this.#book.rules;
    await this.#change(rules);
    const { added, changed, removed } = before.difference(this.#book.rules);
    const parts = Object.entries({ added, changed, removed })
      .filter(([, keys]) => keys.length > 0)
      .map(([what, keys]) => `${what} ${keys.join(', ')}`);
    const told = parts.join('; ') || 'nothing changed';
    this.ties.observation?.config.changed('outbound', told);
    this.#logger.log(`${what}: ${told}.`);
  }

  async #change(rules: OutboundRulesOptions): Promise<void> {
    await this.#book.changeRules(this.#rulesWith(rules));
    this.#inFile = rules;
    this.#explained = undefined;
  }

  /** Changes while running count before the file, and the file before the code. */
  #rulesWith(file: OutboundRulesOptions): OutboundRules {
    const standard = file.default ?? this.options.default;
    const written = {
      ...(standard === undefined ? {} : { default: standard }),
      domains: { ...byName(this.options.domains), ...byName(file.domains) },
    };
    const rules = new OutboundRules(withRuleChanges(written, this.#changes));
    for (const warning of rules.warnings) this.#logger.warn(warning);
    return rules;
  }
}
