import type { DomainRule } from '../../../lib/index.js';

/** What became of one call. */
export interface Outcome {
  readonly process: number;
  /** Its place among the calls of its process, in order of arrival. */
  readonly index: number;
  readonly tokens: number;
  /** When it got its permit or failed, by a clock that all processes share. */
  readonly atMs: number;
  /** The name of the error that it failed with. */
  readonly error: string | null;
  readonly isProbe: boolean;
  /** How long it had waited when its permit was made; 0 when there was none. */
  readonly waitedMs: number;
}

/** Those who got a permit, in order of time. */
export function permitsOf(outcomes: readonly Outcome[]): Outcome[] {
  const permits = outcomes.filter(({ error }) => error === null);
  return permits.sort((one, other) => one.atMs - other.atMs);
}

/**
 * By how many tokens some interval, of all that begin and end with a permit, held more than the rate
 * allows for its length and the burst on top; below zero when none did.
 */
export function overshootOf(permits: readonly Outcome[], rule: DomainRule): number {
  let most = Number.NEGATIVE_INFINITY;
  permits.forEach((first, i) => {
    let tokens = 0;
    for (let j = i; j < permits.length; j++) {
      const last = permits[j]!;
      tokens += last.tokens;
      const seconds = (last.atMs - first.atMs) / 1_000;
      most = Math.max(most, tokens - rule.burstCapacity - rule.requestsPerSecond * seconds);
    }
  });
  return most;
}

/**
 * Tokens per second from the first permit to the last. The burst is there at the beginning, so that
 * only what came after it counts. `lateMs` is what the last permit may have been late.
 */
export function rateOf(permits: readonly Outcome[], rule: DomainRule, lateMs = 0): number {
  const tokens = permits.reduce((sum, one) => sum + one.tokens, 0);
  const lengthMs = permits.at(-1)!.atMs - permits[0]!.atMs - lateMs;
  return (1_000 * (tokens - rule.burstCapacity)) / lengthMs;
}

/** The order in which the calls of one process were let go, by their order of arrival. */
export function orderOf(permits: readonly Outcome[], process: number): number[] {
  return permits.filter((one) => one.process === process).map(({ index }) => index);
}
