import type { HeavyHitter, HeavyHitters } from './heavy-hitters.js';
import { maskKey } from './mask-key.js';
import type { PolicyCounters } from './policy-counters.js';
import type { TopKey, TopKeys } from './stats-snapshot.js';

/** How many are told of all plans together, and of each. */
const OF_ALL = 20;
const OF_EACH = 3;

/** Which of the two are counted without leaving any out. */
type Completeness = Readonly<Record<keyof TopKeys, boolean>>;

interface Ranked extends HeavyHitter {
  readonly policy: string;
}

/** Tells who asks most, masked. */
export class KeyRanking {
  /** A mask takes longer than the rest, and the same keys are at the top again and again. */
  #masks = new Map<string, string>();
  #masksBefore = new Map<string, string>();

  /** Called once for every snapshot: masks that the last one did not show are forgotten. */
  begin(): void {
    this.#masksBefore = this.#masks;
    this.#masks = new Map();
  }

  ofAll(policies: readonly PolicyCounters[], complete: Completeness): TopKeys {
    const rank = (of: (counters: PolicyCounters) => HeavyHitters) =>
      policies.flatMap((counters) => ranked(counters.policy, of(counters), OF_ALL));
    return {
      requests: this.#tell(rank(keysOf), OF_ALL, complete.requests),
      denials: this.#tell(rank(deniedKeysOf), OF_ALL, complete.denials),
    };
  }

  ofEach({ policy, keys, deniedKeys }: PolicyCounters, complete: Completeness): TopKeys {
    return {
      requests: this.#tell(ranked(policy, keys, OF_EACH), OF_EACH, complete.requests),
      denials: this.#tell(ranked(policy, deniedKeys, OF_EACH), OF_EACH, complete.denials),
    };
  }

  #tell(hitters: Ranked[], count: number, isComplete: boolean): TopKey[] {
    return hitters
      .sort((one, other) => other.count - one.count)
      .slice(0, count)
      .map(({ key, atMost, ...rest }) => ({
        ...rest,
        key: this.#mask(key),
        atMost: isComplete ? atMost : null,
      }));
  }

  #mask(key: string): string {
    const mask = this.#masks.get(key) ?? this.#masksBefore.get(key) ?? maskKey(key);
    this.#masks.set(key, mask);
    return mask;
  }
}

function ranked(policy: string, hitters: HeavyHitters, count: number): Ranked[] {
  return hitters.top(count).map((hitter) => ({ ...hitter, policy }));
}

function keysOf({ keys }: PolicyCounters): HeavyHitters {
  return keys;
}

function deniedKeysOf({ deniedKeys }: PolicyCounters): HeavyHitters {
  return deniedKeys;
}
