import { EventEmitter } from 'node:events';
import type { GateState } from '../core/gate.js';
import type { LimitStore } from '../core/limit-store.js';
import { triggersCooldown } from './block-type.js';
import type { Domain } from './domain.js';
import type { DomainBook } from './domain-book.js';
import type { Permit } from './permit.js';
import type { ShutGate } from './queue-ties.js';
import type { ThrottleStatsSnapshot } from './throttle-stats.js';

/** How a domain is taken to be. */
export interface ThrottleState {
  /** `cooling` while nobody calls, `trying` while one call finds out whether that is over. */
  readonly status: 'normal' | 'cooling' | 'trying';
  /** Blocks in a row. */
  readonly consecutiveBlocks: number;
  /** What is left of the cooldown, in milliseconds. */
  readonly cooldownMs: number;
}

/** What to do about a block. */
export interface BlockAdvice extends ThrottleState {
  /** Whether to make no calls for a while. Calls that wait for a permit need not be told. */
  readonly shouldSleep: boolean;
  /** For how long, in milliseconds. */
  readonly sleepMs: number;
}

/** What is known about a block. */
export interface BlockOptions {
  /**
   * Whose work it was, for the event.
   * @default none
   */
  readonly taskId?: string;
  /**
   * What the domain asked for, in milliseconds: opens or prolongs a cooldown by itself.
   * @default none: it asked for nothing
   */
  readonly retryAfterMs?: number;
  /**
   * The permit of the call, which tells whether it began before a cooldown.
   * @default none: that is not known
   */
  readonly permit?: Permit;
}

/** What happened, by the name of the event. */
export interface ThrottleEvents {
  /** A call was blocked. */
  block: [
    {
      readonly domain: string;
      readonly type: string;
      readonly taskId: string | undefined;
      readonly consecutiveBlocks: number;
    },
  ];
  /** A cooldown was opened or prolonged, by this process or another; told once it is known here. */
  cooldown: [
    { readonly domain: string; readonly cooldownMs: number; readonly consecutiveBlocks: number },
  ];
  /** A cooldown is over: calls succeed again. */
  recovered: [{ readonly domain: string }];
}

/**
 * The end of one cooldown is computed a little differently whenever it is heard of, and answers that
 * were on their way together each prolong it a little: all of that is the same cooldown.
 */
const SAME_END_MS = 1_000;
/** So many blocks in a row never come. */
const NEVER_ENOUGH_BLOCKS = Number.MAX_SAFE_INTEGER;

/**
 * Makes all workers pause together when a domain pushes back. Three blocks in a row shut the domain
 * for half a minute to a minute; then one call tries, and its success lets the others go.
 */
export class AdaptiveThrottler {
  /** Tells what happens, one event for each. */
  readonly events = new EventEmitter<ThrottleEvents>();
  #catchUps = 0;

  /** @internal Made by the module. */
  constructor(
    private readonly book: DomainBook,
    private readonly store: LimitStore,
    private readonly random: () => number = Math.random,
  ) {}

  /** Counts a block. Of types that tell nothing about the domain's will, it only keeps count. */
  async recordBlock(
    domain: string,
    blockType: string,
    options: BlockOptions = {},
  ): Promise<BlockAdvice> {
    const known = this.book.use(domain);
    known.throttleStats.recordBlock(blockType);
    const counts = triggersCooldown(blockType);
    const state = counts ? await this.#block(known, options) : await known.store.look();
    const { taskId } = options;
    const event = { domain: known.name, type: blockType, taskId, consecutiveBlocks: state.blocks };
    tell(() => this.events.emit('block', event));
    this.#hearOwn(known, state);
    const throttle = throttleStateOf(state);
    const { cooldownMs } = throttle;
    return { ...throttle, shouldSleep: cooldownMs > 0, sleepMs: cooldownMs };
  }

  /** Makes no calls for a while, because the domain said that it would refuse them. */
  async pause(domain: string, milliseconds: number): Promise<void> {
    if (!(milliseconds > 0)) return;
    const known = this.book.use(domain);
    this.#hearOwn(
      known,
      await this.#block(known, { retryAfterMs: milliseconds }, NEVER_ENOUGH_BLOCKS),
    );
  }

  /** Counts a success, which forgets earlier blocks. Costs nothing while there are none. */
  async recordSuccess(domain: string, { permit }: { permit?: Permit } = {}): Promise<void> {
    const known = this.book.use(domain);
    if (known.blocks === 0 && !permit?.isProbe) return;
    const state = await this.store.changeGate({
      kind: 'success',
      ...known.store.atGate,
      generation: permit?.generation,
    });
    this.hear(known, state);
  }

  /**
   * Hears that a call was given up by its caller: if it was the one that tries, another may, at once.
   * @internal
   */
  async giveUp(domain: string, { probeUntilUs }: Permit): Promise<void> {
    if (probeUntilUs !== undefined) await this.book.use(domain).store.tellFree(probeUntilUs);
  }

  /** Tells how a domain is taken to be. */
  async state(domain: string): Promise<ThrottleState> {
    return throttleStateOf(await this.book.use(domain).store.look());
  }

  /** What its cooldowns came to in this process. */
  stats(domain: string): ThrottleStatsSnapshot {
    return this.book.use(domain).throttleStats.snapshot();
  }

  /**
   * Hears how a gate is, from the store or from other processes; the same news may come twice.
   * @internal
   */
  hear(domain: Domain, state: GateState): void {
    domain.timesHeard++;
    domain.blocks = state.blocks;
    // Those who wait come first; whoever is only told may take its time.
    domain.hearGate(state);
    this.#tellOf(domain, state);
  }

  /**
   * Hears that a gate kept a call from going, which shuts the queue by itself.
   * @internal
   */
  hearShut(name: string, shut: ShutGate): void {
    const domain = this.book.find(name);
    if (!domain) return;
    domain.blocks = shut.blocks;
    this.#tellOf(domain, shut);
  }

  /**
   * Looks for blocks and cooldowns that others told of while nobody listened here. One domain after
   * the other: the server may just have come back, and all processes look at once.
   * @internal
   */
  async catchUp(): Promise<void> {
    const catchUp = ++this.#catchUps;
    for (const domain of this.book.all()) {
      if (catchUp !== this.#catchUps) return;
      await this.#lookForTrouble(domain);
    }
  }

  /** That a cooldown has ended is found by the next call; a store in trouble would only claim it. */
  async #lookForTrouble(domain: Domain): Promise<void> {
    const { timesHeard } = domain;
    try {
      const state = await domain.store.look();
      // What was heard meanwhile is at least as new.
      if (state.blocks > 0 && domain.timesHeard === timesHeard) this.hear(domain, state);
    } catch {
      // Whoever calls will hear of it.
    }
  }

  /** What a report of this process came to. */
  #hearOwn(domain: Domain, state: GateState): void {
    if (state.changed) domain.throttleStats.recordCooldown(Math.round(state.cooldownUs / 1_000));
    this.hear(domain, state);
  }

  #tellOf(domain: Domain, { blocks, cooldownUs }: ShutGate): void {
    const { name } = domain;
    const cooldownMs = Math.ceil(cooldownUs / 1_000);
    const endsMs = this.book.nowMs() + cooldownMs;
    if (cooldownMs > 0 && endsMs > domain.cooldownEndsMs + SAME_END_MS) {
      domain.cooldownEndsMs = endsMs;
      const event = { domain: name, cooldownMs, consecutiveBlocks: blocks };
      tell(() => this.events.emit('cooldown', event));
    }
    if (blocks === 0 && domain.cooldownEndsMs > 0 && cooldownMs === 0) {
      domain.cooldownEndsMs = 0;
      tell(() => this.events.emit('recovered', { domain: name }));
    }
  }

  #block(
    domain: Domain,
    { retryAfterMs = 0, permit }: BlockOptions,
    threshold = domain.throttle.blocksToCooldown,
  ) {
    const { minCooldownMs, maxCooldownMs, maxRetryAfterMs } = domain.throttle;
    const cooldownMs = minCooldownMs + this.random() * (maxCooldownMs - minCooldownMs);
    const askedMs = retryAfterMs > 0 ? Math.min(retryAfterMs, maxRetryAfterMs) : 0;
    return this.store.changeGate({
      kind: 'block',
      ...domain.store.atGate,
      threshold,
      cooldownUs: Math.round(cooldownMs * 1_000),
      retryAfterUs: Math.round(askedMs * 1_000),
      generation: permit?.generation,
    });
  }
}

/** A listener that throws must not undo what happened, nor cost a caller the answer that it got. */
function tell(emit: () => void): void {
  try {
    emit();
  } catch (error) {
    process.emitWarning(`A listener of AdaptiveThrottler.events threw: ${String(error)}`);
  }
}

function throttleStateOf({ blocks, cooldownUs, isTrying }: GateState): ThrottleState {
  return {
    status: cooldownUs > 0 ? 'cooling' : isTrying ? 'trying' : 'normal',
    consecutiveBlocks: blocks,
    cooldownMs: Math.ceil(cooldownUs / 1_000),
  };
}
