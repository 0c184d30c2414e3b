import type { Phase } from '../../core/keys/key-resolver.js';
import type { Lease } from '../../core/lease.js';
import type { PlanBook } from '../../core/plan-book.js';
import type { Charge } from '../charge.js';
import type { HandlerChains, ReadyChain } from '../handler-chains.js';
import { closedContext, watchContext } from './context-watch.js';
import type { GraphqlInfo, ResponsePath } from './graphql-info.js';
import { OperationBill } from './operation-bill.js';
import type { SchemaFields } from './schema-fields.js';
import type { SelectionCounts } from './selection-counter.js';
import { countSelections } from './selection-counter.js';
import type { Run, Till } from './till.js';

/** A field that is about to run, and what one selection of it costs. */
interface Visit {
  readonly run: Run;
  readonly info: GraphqlInfo;
  readonly till: Till;
  readonly charges: readonly Charge[];
}

/** What a field was charged with others: the price of one selection, and what was decided. */
interface Share {
  readonly price: string;
  readonly lease: Lease;
}

type Shares = ReadonlyMap<HandlerChains, Share>;

/** Fields that are charged together: all whose price is known on arrival, or one alone. */
const ALL = Symbol('all fields');
type Group = typeof ALL | HandlerChains;

/** More than plans hold: the price of a document that is too large to be counted. */
const MAX_TOKENS = 1e15;

/**
 * What one operation has paid, where it pays a field as often as its document selects it. The first
 * field to arrive pays for all that are known by then, in one decision: all of them may run, or none.
 *
 * Two kinds of fields pay for themselves, each selection when it first runs: those whose price was
 * computed from their context, because it may depend on their arguments, and those that need slots,
 * because a slot belongs to one run and comes back when that is over.
 */
export class SelectionBill {
  readonly #groups: Record<Phase, Map<Group, Promise<Shares>>> = {
    guard: new Map(),
    interceptor: new Map(),
  };
  readonly #alone: Record<Phase, Map<HandlerChains, Map<string, OperationBill>>> = {
    guard: new Map(),
    interceptor: new Map(),
  };
  /** Undefined until it is counted; null when it cannot be. */
  #counts: SelectionCounts | null | undefined;

  constructor(
    private readonly fields: SchemaFields,
    private readonly plans: PlanBook,
  ) {}

  /** Pays what the run owes; undefined when that is nothing. */
  async settle(run: Run, info: GraphqlInfo, till: Till): Promise<Lease | undefined> {
    if (this.fields.learn(info, run.handler)) this.#counts = undefined;
    const watch = watchContext(run.context);
    const charges = await till.price(run.handler[run.phase], watch.context);
    if (charges.length === 0) return undefined;
    const visit = { run, info, till, charges };
    return watch.wasRead ? this.#settleAlone(visit) : this.#settleTogether(visit);
  }

  async #settleTogether(visit: Visit): Promise<Lease | undefined> {
    const { handler, phase } = visit.run;
    const group = phase === 'guard' && isWritten(handler.guard) ? ALL : handler;
    const known = this.#groups[phase].get(group);
    const charging = known ?? this.#charge(visit, group);
    this.#groups[phase].set(group, charging);
    const share = (await charging).get(handler);
    // A price that changes from field to field, whatever it was computed from.
    if (share?.price !== priceOf(visit.charges)) return this.#settleAlone(visit);
    return known && share.lease.allowed ? undefined : share.lease;
  }

  /** Each selection has a bill of its own: its runs below a list share it. */
  #settleAlone({ run, info, till, charges }: Visit): Promise<Lease | undefined> {
    const ofPhase = this.#alone[run.phase];
    const ofHandler = ofPhase.get(run.handler) ?? new Map<string, OperationBill>();
    ofPhase.set(run.handler, ofHandler);
    const place = placeOf(info.path);
    const bill = ofHandler.get(place) ?? new OperationBill();
    ofHandler.set(place, bill);
    return bill.settle(charges, (owed) => till.acquire(owed));
  }

  /** No share for anybody where slots are needed. */
  async #charge(visit: Visit, group: Group): Promise<Shares> {
    const { run, till, charges } = visit;
    if (run.phase === 'interceptor' && (await this.#lends(charges))) return new Map();
    const priced = new Map([[run.handler, charges]]);
    if (group === ALL) await this.#priceOthers(visit, priced);
    const owed = [...priced].flatMap(([handler, some]) =>
      some.map((charge) => times(charge, this.#countOf(visit, handler))),
    );
    const lease = await till.acquire(owed);
    return new Map(
      [...priced].map(([handler, some]) => [handler, { price: priceOf(some), lease }]),
    );
  }

  async #priceOthers(
    { run, info, till }: Visit,
    priced: Map<HandlerChains, readonly Charge[]>,
  ): Promise<void> {
    for (const handler of this.#countedIn(info)?.keys() ?? []) {
      if (priced.has(handler) || !isWritten(handler.guard)) continue;
      try {
        priced.set(handler, await till.price(handler.guard, closedContext(run.context)));
      } catch {
        // It says itself what is wrong when it runs.
      }
    }
  }

  /** What runs is selected at least once. */
  #countOf({ info }: Visit, handler: HandlerChains): number {
    const counts = this.#countedIn(info);
    return counts ? (counts.get(handler) ?? 1) : MAX_TOKENS;
  }

  #countedIn(info: GraphqlInfo): SelectionCounts | null {
    if (this.#counts === undefined) this.#counts = countSelections(info, this.fields) ?? null;
    return this.#counts;
  }

  async #lends(charges: readonly Charge[]): Promise<boolean> {
    for (const { plan } of charges) {
      if ((await this.plans.find(plan)).kind === 'concurrency') return true;
    }
    return false;
  }
}

/** Whether plans and tokens are written down; keys may still have to be found. */
function isWritten(chains: readonly ReadyChain[]): boolean {
  return chains.every(({ links, tokens }) => links && typeof tokens === 'number');
}

function times(charge: Charge, count: number): Charge {
  return { ...charge, tokens: Math.min(charge.tokens * count, MAX_TOKENS) };
}

function priceOf(charges: readonly Charge[]): string {
  return JSON.stringify(charges.map(({ plan, key, tokens }) => [plan, key, tokens]));
}

/** Where a field stands in the response, the items of a list being one. */
function placeOf(path: ResponsePath): string {
  const keys: string[] = [];
  for (let at: ResponsePath | undefined = path; at; at = at.prev) {
    if (typeof at.key === 'string') keys.push(at.key);
  }
  return keys.join('.');
}
