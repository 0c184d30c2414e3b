import type { Awaitable } from '../../core/awaitable.js';
import type { Lease } from '../../core/lease.js';
import type { Charge } from '../charge.js';

/**
 * What several runs pay together: those of one operation, or of one selection below a list. Each limit
 * is paid once, at the price of the dearest run that asks for it: a cheap one first makes no dear one
 * cheap.
 */
export class OperationBill {
  readonly #paid = new Map<string, number>();
  #last: Promise<unknown> = Promise.resolve();

  /**
   * Pays what is still owed; undefined when that is nothing. Fields run side by side, so they queue:
   * none may rely on a payment that is then refused.
   */
  settle(
    charges: readonly Charge[],
    acquire: (owed: readonly Charge[]) => Awaitable<Lease>,
  ): Promise<Lease | undefined> {
    const settling = this.#last.then(() => this.#pay(charges, acquire));
    this.#last = settling.catch(() => undefined);
    return settling;
  }

  async #pay(
    charges: readonly Charge[],
    acquire: (owed: readonly Charge[]) => Awaitable<Lease>,
  ): Promise<Lease | undefined> {
    const totals = totalsOf(charges);
    const owed = [...totals].flatMap(([name, charge]) => {
      const tokens = charge.tokens - (this.#paid.get(name) ?? 0);
      return tokens > 0 ? [{ ...charge, tokens }] : [];
    });
    if (owed.length === 0) return undefined;
    const lease = await acquire(owed);
    if (lease.allowed) this.#remember(totals, lease);
    return lease;
  }

  /** Slots are not remembered: each field that runs holds its own, until it has run. */
  #remember(totals: ReadonlyMap<string, Charge>, { held }: Lease): void {
    const lent = new Set(held?.limits.map(({ plan }) => plan.name));
    for (const [name, { plan, tokens }] of totals) {
      if (!lent.has(plan)) this.#paid.set(name, Math.max(tokens, this.#paid.get(name) ?? 0));
    }
  }
}

/** A limit that is named twice costs the sum. */
function totalsOf(charges: readonly Charge[]): Map<string, Charge> {
  const totals = new Map<string, Charge>();
  for (const charge of charges) {
    const name = JSON.stringify([charge.plan, charge.key]);
    const tokens = (totals.get(name)?.tokens ?? 0) + charge.tokens;
    totals.set(name, { ...charge, tokens });
  }
  return totals;
}
