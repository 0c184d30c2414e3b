/** Names that come while running and are told apart. Plans may come from a database, one per customer. */
export const MAX_POLICIES = 200;

/** Stands for all plans beyond, and for all outbound rules. No plan can be called so. */
export const OTHER_POLICY = '_other';

/** The same for levels of a gateway, which share their metrics with plans. */
export const OTHER_LEVELS = '_other_levels';

/** Declared names that are shown before they are used. */
export const MAX_SHOWN_UNUSED = 1_000;

/**
 * Counters by name. Declared names, those known at start, always have counters of their own; names
 * that come while running have them while there is room, and share those of `_other` after that.
 */
export class CountersByName<Counters> {
  readonly #counters = new Map<string, Counters>();
  readonly #declared = new Set<string>();
  /** Of the names that have counters, those that were not declared. */
  #undeclared = 0;

  /** `other` stands for the names that have no counters of their own. */
  constructor(private readonly other: string = OTHER_POLICY) {}

  get(name: string): Counters | undefined {
    return this.#counters.get(name);
  }

  /** A name that is known at start. It is there from now on, with zeros. */
  declare(name: string, make: () => Counters): void {
    if (this.#declared.has(name)) return;
    this.#declared.add(name);
    if (this.#counters.has(name)) this.#undeclared--;
    else if (this.#counters.size < MAX_SHOWN_UNUSED) this.#counters.set(name, make());
  }

  /** The counters of a name, made if need be: `make` hears the name that they get: its own, or `_other`. */
  open(name: string, make: (policy: string) => Counters): Counters {
    const known = this.#counters.get(name);
    if (known) return known;
    const policy = this.#policyOf(name);
    const counters = this.#counters.get(policy) ?? make(policy);
    this.#counters.set(policy, counters);
    return counters;
  }

  /** All of them, in order of appearance. */
  entries(): [string, Counters][] {
    return [...this.#counters];
  }

  /** Begins anew: what was declared is there again, with zeros. */
  clear(again: (counters: Counters) => Counters): void {
    for (const [name, counters] of this.#counters) {
      if (this.#declared.has(name)) this.#counters.set(name, again(counters));
      else this.#counters.delete(name);
    }
    this.#undeclared = 0;
  }

  #policyOf(name: string): string {
    if (this.#declared.has(name)) return name;
    if (this.#undeclared >= MAX_POLICIES) return this.other;
    this.#undeclared++;
    return name;
  }
}

/** Whether a name stands for many. */
export function isOther(policy: string): boolean {
  return policy === OTHER_POLICY || policy === OTHER_LEVELS;
}
