import type {
  BeatChange,
  BlockChange,
  FreeChange,
  Gate,
  GateState,
  GateView,
  ReplanChange,
  SuccessChange,
} from './gate.js';
import type { TokenBucketPlan } from './plan.js';
import { HOLDER_GRACE_US, REPLAN_GRACE_US, REPLAN_WASTE_SHARE, REPLAN_WASTE_US } from './gate.js';

/** What a change means for the bucket behind the gate. */
export type BucketEffect =
  | { readonly kind: 'none' }
  /** No burst: whatever it held is gone. */
  | { readonly kind: 'empty' }
  /** Nothing is owed any more: all turns that were booked are void. */
  | { readonly kind: 'forgive' }
  /** Only so much is still owed, for turns that stay as they are. */
  | { readonly kind: 'owe'; readonly us: number };

/** What the bucket behind a gate holds after a change. */
export function levelAfter(effect: BucketEffect, level: number, plan: TokenBucketPlan): number {
  switch (effect.kind) {
    case 'none':
      return level;
    case 'empty':
      return Math.min(level, 0);
    case 'forgive':
      return Math.max(level, 0);
    case 'owe':
      return (-effect.us * plan.refill) / plan.periodUs;
    default:
      return effect;
  }
}

const NONE: BucketEffect = { kind: 'none' };

/** What a gate remembers, and its rules. Kept in step with lua/gate.lua and lua/decide.lua. */
export class GateRecord {
  #generation = 0;
  #cutUs = 0;
  #blocks = 0;
  /** End of the cooldown; 0 when there is none, not over until a probe has succeeded. */
  #untilUs = 0;
  /** When the cooldown was opened: requests that were sent before say nothing about it. */
  #openedUs = 0;
  #probeUntilUs = 0;
  #probeHolder: string | undefined;
  #wastedUs = 0;
  #expiresUs = 0;

  /** Whether nothing is left to be remembered. */
  hasExpired(nowUs: number): boolean {
    return nowUs >= this.#expiresUs;
  }

  view(nowUs: number): GateView {
    const waitUs = this.#waitUs(nowUs);
    return {
      generation: this.#generation,
      cutUs: this.#cutUs,
      waitUs,
      isProbe: this.#untilUs > 0 && waitUs === 0,
      isTried: this.#untilUs <= nowUs && waitUs > 0,
      blocks: this.#blocks,
    };
  }

  /**
   * The chain that passes after a cooldown is the probe; others wait for what it finds. Tells until
   * when they count on whoever passed.
   */
  pass({ probeUs, holder }: Gate, actUs: number): number {
    if (this.#untilUs === 0) return actUs;
    this.#probeUntilUs = actUs + probeUs;
    this.#probeHolder = holder;
    return this.#probeUntilUs;
  }

  state(nowUs: number, changed: boolean): GateState {
    return {
      generation: this.#generation,
      cutUs: this.#cutUs,
      blocks: this.#blocks,
      cooldownUs: Math.max(0, this.#untilUs - nowUs),
      isTrying: this.#untilUs > 0 && nowUs >= this.#untilUs,
      changed,
    };
  }

  /** Many blocks at once are one event: those that come while it is shut do not count. */
  block(change: BlockChange, nowUs: number): [GateState, BucketEffect] {
    if (nowUs < this.#untilUs) return [this.state(nowUs, this.#prolong(change, nowUs)), NONE];
    if (this.#isStale(change.generation)) return [this.state(nowUs, false), NONE];
    this.#blocks++;
    const cooldownUs = this.#blocks >= change.threshold ? change.cooldownUs : 0;
    const shutUs = Math.max(cooldownUs, change.retryAfterUs);
    if (shutUs > 0) {
      this.#untilUs = nowUs + shutUs;
      this.#openedUs = nowUs;
      this.#probeUntilUs = 0;
      this.#plan(nowUs, nowUs);
    }
    this.#keep(change.memoryUs, nowUs);
    return [this.state(nowUs, shutUs > 0), shutUs > 0 ? { kind: 'forgive' } : NONE];
  }

  success(change: SuccessChange, nowUs: number): [GateState, BucketEffect] {
    const shut = nowUs < this.#untilUs;
    const trying = this.#untilUs > 0 && !shut;
    if (shut || (trying && this.#isStale(change.generation)) || this.#blocks === 0) {
      return [this.state(nowUs, false), NONE];
    }
    this.#blocks = 0;
    this.#untilUs = 0;
    if (trying) this.#plan(nowUs, nowUs);
    this.#keep(change.memoryUs, nowUs);
    return [this.state(nowUs, trying), trying ? { kind: 'empty' } : NONE];
  }

  /** `owedUs` is how long the queue is. */
  replan(change: ReplanChange, owedUs: number, nowUs: number): [GateState, BucketEffect] {
    this.#wastedUs = owedUs > 0 ? Math.min(owedUs, this.#wastedUs + change.wastedUs) : 0;
    const worthIt =
      this.#wastedUs >= REPLAN_WASTE_US && this.#wastedUs >= owedUs * REPLAN_WASTE_SHARE;
    this.#keep(change.memoryUs, nowUs);
    if (!change.always && !worthIt) return [this.state(nowUs, false), NONE];
    this.#plan(nowUs, nowUs + REPLAN_GRACE_US);
    const effect: BucketEffect =
      owedUs > REPLAN_GRACE_US ? { kind: 'owe', us: REPLAN_GRACE_US } : NONE;
    return [this.state(nowUs, true), effect];
  }

  /** Only the probe that is being waited for can be given up: another one may have followed it. */
  free({ probeUntilUs }: FreeChange, nowUs: number): [GateState, BucketEffect] {
    if (probeUntilUs === this.#probeUntilUs) this.#probeUntilUs = 0;
    return [this.state(nowUs, true), NONE];
  }

  /** Processes have died: the probe that one of them made is lost, and nobody will use its turns. */
  bury(
    dead: readonly string[],
    { memoryUs }: BeatChange,
    owedUs: number,
    nowUs: number,
  ): [GateState, BucketEffect] {
    const losesProbe = this.#probeHolder !== undefined && dead.includes(this.#probeHolder);
    const wasTried = losesProbe && this.#probeUntilUs > nowUs;
    if (wasTried) this.#probeUntilUs = 0;
    const replans = dead.length > 0 && owedUs > HOLDER_GRACE_US;
    if (!replans) return [this.state(nowUs, wasTried), NONE];
    this.#plan(nowUs, nowUs + HOLDER_GRACE_US);
    this.#keep(memoryUs, nowUs);
    return [this.state(nowUs, true), { kind: 'owe', us: HOLDER_GRACE_US }];
  }

  #waitUs(nowUs: number): number {
    if (this.#untilUs === 0) return 0;
    return Math.max(0, this.#untilUs - nowUs, this.#probeUntilUs - nowUs);
  }

  /** Never shortened. */
  #prolong({ retryAfterUs, memoryUs }: BlockChange, nowUs: number): boolean {
    if (nowUs + retryAfterUs <= this.#untilUs) return false;
    this.#untilUs = nowUs + retryAfterUs;
    this.#keep(memoryUs, nowUs);
    return true;
  }

  #isStale(generation: number | undefined): boolean {
    return generation !== undefined && generation < this.#openedUs;
  }

  /** Numbered by time, so that a gate that was forgotten never counts the same twice. */
  #plan(nowUs: number, cutUs: number): void {
    this.#generation = Math.max(nowUs, this.#generation + 1);
    this.#cutUs = cutUs;
    this.#wastedUs = 0;
  }

  #keep(memoryUs: number, nowUs: number): void {
    this.#expiresUs = Math.max(nowUs, this.#untilUs) + memoryUs;
  }
}
