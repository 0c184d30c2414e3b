import type { HandlerChains } from '../handler-chains.js';
import type {
  DirectiveNode,
  GraphqlInfo,
  SelectionNode,
  SelectionSetNode,
} from './graphql-info.js';
import type { SchemaField, SchemaFields } from './schema-fields.js';

/** How often a document selects the fields of each limited handler. */
export type SelectionCounts = ReadonlyMap<HandlerChains, number>;

/** A selection set, and the type of what it selects from. */
interface Scope {
  readonly type: string;
  readonly set: SelectionSetNode;
}

/** A field as it was found in a scope. */
interface Found {
  readonly type: string;
  readonly node: SelectionNode;
}

/** Selections of one scope by the name that they have in the response. */
type Merged = Map<string, Found[]>;

/** More selections than documents have: about 20 ms of work. */
const MAX_STEPS = 20_000;
/** Deeper than documents are; the stack has room for several times as much. */
const MAX_DEPTH = 500;

/** A document on which counting gives up. */
class TooLarge extends Error {}

const NOTHING: SelectionCounts = new Map();

/**
 * Counts how often the document of an operation selects each limited field: once for each place in
 * the response, as GraphQL runs it. Selections with the same name in the same place are one, in
 * fragments too; the items of a list are one place. What `@skip` and `@include` leave out is none.
 *
 * Work is bounded, whatever the document. Returns undefined for one that is too large to be counted.
 */
export function countSelections(
  info: GraphqlInfo,
  fields: SchemaFields,
): SelectionCounts | undefined {
  try {
    return new SelectionCounter(info, fields).count();
  } catch (error) {
    if (error instanceof TooLarge) return undefined;
    throw error;
  }
}

class SelectionCounter {
  /** Counts below a place, by the fields that are merged there: fragments lead to the same ones. */
  readonly #counted = new Map<string, SelectionCounts>();
  readonly #ids = new Map<SelectionNode, Map<string, number>>();
  #nextId = 0;
  #steps = 0;

  constructor(
    private readonly info: GraphqlInfo,
    private readonly fields: SchemaFields,
  ) {}

  count(): SelectionCounts {
    const { operation, selectionSet } = this.info.operation;
    const type = this.fields.root(operation);
    if (type === undefined) return NOTHING;
    const roots = this.#merge([{ type, set: selectionSet }]);
    if (operation !== 'subscription') return this.#sum(roots, 0);
    // It pays for its root when it begins, and for what is below whenever something happens.
    return this.#sum(roots, 0, this.info.path.prev === undefined ? 'here' : 'below');
  }

  #sum(merged: Merged, depth: number, part?: 'here' | 'below'): SelectionCounts {
    if (depth > MAX_DEPTH) throw new TooLarge();
    const total = new Map<HandlerChains, number>();
    for (const found of merged.values()) {
      const here = part === 'below' ? [] : this.#handlersOf(found);
      const below = part === 'here' ? NOTHING : this.#sumBelow(found, depth);
      for (const handler of here) add(total, handler, 1);
      for (const [handler, count] of below) add(total, handler, count);
    }
    return total;
  }

  #sumBelow(found: readonly Found[], depth: number): SelectionCounts {
    const scopes = this.#scopesBelow(found);
    if (scopes.length === 0) return NOTHING;
    const place = found.map((one) => this.#idOf(one)).join();
    const counts = this.#counted.get(place) ?? this.#sum(this.#merge(scopes), depth + 1);
    this.#counted.set(place, counts);
    return counts;
  }

  #handlersOf(found: readonly Found[]): Iterable<HandlerChains> {
    if (found.length === 1) return this.#fieldOf(found[0]!).handlers;
    return new Set(found.flatMap((one) => [...this.#fieldOf(one).handlers]));
  }

  #scopesBelow(found: readonly Found[]): Scope[] {
    return found.flatMap((one) => {
      const { below } = this.#fieldOf(one);
      const set = one.node.selectionSet;
      return set && below !== undefined ? [{ type: below, set }] : [];
    });
  }

  #fieldOf({ type, node }: Found): SchemaField {
    return this.fields.field(type, node.name!.value);
  }

  /** Without recursion: fragments may lead to each other deeper than the stack is. */
  #merge(scopes: readonly Scope[]): Merged {
    const merged: Merged = new Map();
    const seen = new Set<string>();
    const open = [...scopes];
    for (let scope = open.pop(); scope; scope = open.pop()) {
      for (const node of scope.set.selections) {
        if (++this.#steps > MAX_STEPS) throw new TooLarge();
        if (!this.#isIncluded(node)) continue;
        if (node.kind === 'Field') put(merged, scope.type, node);
        else open.push(...this.#scopesOf(node, scope.type, seen));
      }
    }
    return merged;
  }

  /** What a fragment selects; nothing when it was seen before, or is for other types. */
  #scopesOf(node: SelectionNode, type: string, seen: Set<string>): Scope[] {
    const fragment = node.kind === 'FragmentSpread' ? this.info.fragments[node.name!.value] : node;
    const condition = fragment?.typeCondition?.name.value;
    const narrowed = condition === undefined ? type : this.fields.narrow(type, condition);
    if (!fragment?.selectionSet || narrowed === undefined) return [];
    if (fragment !== node) {
      const place = `${narrowed} ${node.name!.value}`;
      if (seen.has(place)) return [];
      seen.add(place);
    }
    return [{ type: narrowed, set: fragment.selectionSet }];
  }

  #isIncluded({ directives }: SelectionNode): boolean {
    if (!directives || directives.length === 0) return true;
    return directives.every((directive) => {
      const name = directive.name.value;
      if (name === 'skip') return this.#conditionOf(directive) !== true;
      return name !== 'include' || this.#conditionOf(directive) !== false;
    });
  }

  /** Undefined when it cannot be told, and then the selection counts. */
  #conditionOf(directive: DirectiveNode): unknown {
    const condition = directive.arguments?.find(({ name }) => name.value === 'if')?.value;
    if (condition?.kind !== 'Variable') return condition?.value;
    const { variableValues } = this.info;
    const name = condition.name!.value;
    const value = variableValues[name];
    if (typeof value === 'boolean') return value;
    // Newer versions of GraphQL keep what was sent beside what it means.
    return (variableValues['coerced'] as Record<string, unknown> | undefined)?.[name];
  }

  #idOf({ node, type }: Found): number {
    const ids = this.#ids.get(node) ?? new Map<string, number>();
    this.#ids.set(node, ids);
    const id = ids.get(type) ?? this.#nextId++;
    ids.set(type, id);
    return id;
  }
}

function put(merged: Merged, type: string, node: SelectionNode): void {
  const name = (node.alias ?? node.name!).value;
  const found = merged.get(name);
  if (found) found.push({ type, node });
  else merged.set(name, [{ type, node }]);
}

function add(total: Map<HandlerChains, number>, handler: HandlerChains, count: number): void {
  total.set(handler, (total.get(handler) ?? 0) + count);
}
