/** Types of blocks that are told apart; more are counted as one. */
const MAX_TYPES = 50;
const OTHER = 'other';

/** What a domain's cooldowns came to in this process, at one moment. */
export interface ThrottleStatsSnapshot {
  /** Cooldowns that were opened by reports of this process. */
  readonly cooldownsOpened: number;
  /** The length of all cooldowns together. */
  readonly totalCooldownMs: number;
  /** The length of the last one; 0 when there was none. */
  readonly lastCooldownMs: number;
  /** Blocks by type, those that open no cooldown among them. */
  readonly blocksByType: Readonly<Record<string, number>>;
}

/** Counts blocks and cooldowns of one domain. */
export class ThrottleStats {
  // Made when first needed: most domains never push back.
  #blocksByType: Map<string, number> | undefined;
  #cooldownsOpened = 0;
  #totalCooldownMs = 0;
  #lastCooldownMs = 0;

  recordBlock(type: string): void {
    const counts = (this.#blocksByType ??= new Map());
    const counted = counts.has(type) || counts.size < MAX_TYPES ? type : OTHER;
    counts.set(counted, (counts.get(counted) ?? 0) + 1);
  }

  recordCooldown(milliseconds: number): void {
    this.#cooldownsOpened++;
    this.#totalCooldownMs += milliseconds;
    this.#lastCooldownMs = milliseconds;
  }

  snapshot(): ThrottleStatsSnapshot {
    return {
      cooldownsOpened: this.#cooldownsOpened,
      totalCooldownMs: this.#totalCooldownMs,
      lastCooldownMs: this.#lastCooldownMs,
      blocksByType: Object.fromEntries(this.#blocksByType ?? []),
    };
  }

  reset(): void {
    this.#blocksByType = undefined;
    this.#cooldownsOpened = 0;
    this.#totalCooldownMs = 0;
    this.#lastCooldownMs = 0;
  }
}
