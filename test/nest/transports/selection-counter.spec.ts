import { performance } from 'node:perf_hooks';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { GraphQLResolveInfo } from 'graphql';
import { buildSchema, execute, Kind, parse, validate } from 'graphql';
import type { HandlerChains } from '../../../lib/nest/handler-chains.js';
import { HeaderMemo } from '../../../lib/nest/rate-limit-headers.js';
import type { GraphqlInfo } from '../../../lib/nest/transports/graphql-info.js';
import { LimitedFields } from '../../../lib/nest/transports/limited-fields.js';
import { SchemaFields } from '../../../lib/nest/transports/schema-fields.js';
import { countSelections } from '../../../lib/nest/transports/selection-counter.js';

const SCHEMA = buildSchema(`
  interface Animal { name: Int  friend: Animal!  friends: [Animal!]! }
  type Cat implements Animal { name: Int  friend: Animal!  friends: [Animal!]!  meow: Int }
  type Dog implements Animal { name: Int  friend: Animal!  friends: [Animal!]!  bark: Int }
  union Pet = Cat | Dog
  type Query { cat: Cat!  animals: [Animal!]!  pets: [Pet!]!  name: Int  self: Query! }
  type Subscription { heard: Animal! }
`);

/** Animal.name is one handler for both types; the others have one each. */
const LIMITED = ['Query.name', 'Query.cat', 'Animal.name', 'Cat.meow', 'Dog.bark', 'Dog.friend'];
const ROOT_LIMITED = [...LIMITED, 'Subscription.heard'];

const NO_CHAINS = { guard: [], interceptor: [], refunds: false, seesHandlerEnd: false, name: '' };
const handlers = new Map<string, HandlerChains>();
const limited = new LimitedFields();
for (const field of ROOT_LIMITED) {
  const [type, name] = field.split('.') as [string, string];
  const chains = { ...NO_CHAINS, headers: new HeaderMemo() };
  const handler = Object.defineProperty(() => undefined, 'name', { value: name });
  Reflect.defineMetadata('graphql:resolver_type', type, handler);
  limited.add(class {}, handler, chains);
  handlers.set(field, chains);
}

/** What the resolver of the first field to run would be told. */
function infoOf(document: string, variables: Record<string, unknown> = {}): GraphqlInfo {
  const { definitions } = parse(document);
  const operation = definitions.find(({ kind }) => kind === Kind.OPERATION_DEFINITION);
  const fragments = definitions.filter((one) => one.kind === Kind.FRAGMENT_DEFINITION);
  return {
    fieldName: 'name',
    parentType: { name: 'Query' },
    path: { key: 'name' },
    schema: SCHEMA,
    operation,
    fragments: Object.fromEntries(fragments.map((one) => [one.name.value, one])),
    variableValues: variables,
  } as unknown as GraphqlInfo;
}

function counted(info: GraphqlInfo): Record<string, number> | undefined {
  const counts = countSelections(info, new SchemaFields(SCHEMA, limited));
  if (!counts) return undefined;
  const named = [...handlers].map(([name, chains]) => [name, counts.get(chains) ?? 0] as const);
  return Object.fromEntries(named.filter(([, count]) => count > 0));
}

function countIn(document: string, variables?: Record<string, unknown>) {
  return counted(infoOf(document, variables));
}

/** How often GraphQL itself runs each limited field, the items of a list being one. */
function ran(document: string, variableValues: Record<string, unknown>): Record<string, number> {
  const places = new Map<string, Set<string>>();
  const see = ({ parentType, fieldName, path }: GraphQLResolveInfo) => {
    const keys: string[] = [];
    for (let at: typeof path | undefined = path; at; at = at.prev) {
      if (typeof at.key === 'string') keys.push(at.key);
    }
    const names = [`${parentType.name}.${fieldName}`, `Animal.${fieldName}`];
    const name = names.find((one) => LIMITED.includes(one));
    if (name) places.set(name, (places.get(name) ?? new Set()).add(keys.join('.')));
  };
  const cat = { __typename: 'Cat' };
  const dog = { __typename: 'Dog' };
  const result = execute({
    schema: SCHEMA,
    document: parse(document),
    variableValues,
    rootValue: {},
    fieldResolver: (_parent, _args, _context, info) => {
      see(info);
      if (info.fieldName === 'self') return {};
      if (['animals', 'pets', 'friends'].includes(info.fieldName)) return [cat, dog];
      // Of both kinds in turn, so that whatever may be selected is.
      if (info.fieldName === 'friend') return info.parentType.name === 'Cat' ? dog : cat;
      return info.fieldName === 'cat' ? cat : 1;
    },
  });
  expect(result).not.toHaveProperty('errors');
  return Object.fromEntries([...places].map(([name, seen]) => [name, seen.size]));
}

describe('counting selections', () => {
  it.each<[string, Record<string, number>]>([
    ['{ name }', { 'Query.name': 1 }],
    ['{ name name }', { 'Query.name': 1 }],
    ['{ a: name b: name }', { 'Query.name': 2 }],
    ['{ name self { name self { name } } }', { 'Query.name': 3 }],
    ['{ self { name } self { name } }', { 'Query.name': 1 }],
    ['{ self { a: name } self { b: name } }', { 'Query.name': 2 }],
    ['{ ...F ...F x: self { ...F } } fragment F on Query { name }', { 'Query.name': 2 }],
    ['{ ...F name } fragment F on Query { name }', { 'Query.name': 1 }],
    ['{ ... { a: name ... on Query { b: name } } }', { 'Query.name': 2 }],
    ['{ animals { name } }', { 'Animal.name': 1 }],
    ['{ animals { ... on Cat { name } ... on Dog { name } } }', { 'Animal.name': 1 }],
    ['{ animals { ... on Cat { a: name } ... on Dog { b: name } } }', { 'Animal.name': 2 }],
    ['{ pets { ... on Animal { name } } }', { 'Animal.name': 1 }],
    ['{ pets { ... on Cat { meow } ... on Dog { bark } } }', { 'Cat.meow': 1, 'Dog.bark': 1 }],
    ['{ cat { friend { name } } }', { 'Query.cat': 1, 'Animal.name': 1 }],
    ['{ animals { friend { name } } }', { 'Animal.name': 1, 'Dog.friend': 1 }],
    ['{ cat { ... on Animal { ... on Dog { bark } } } }', { 'Query.cat': 1 }],
    ['{ name @skip(if: true) a: name @include(if: false) }', {}],
    ['{ name @skip(if: false) @include(if: true) }', { 'Query.name': 1 }],
    ['{ __typename __schema { types { name } } name }', { 'Query.name': 1 }],
  ])('%s', (document, expected) => {
    expect(validate(SCHEMA, parse(document))).toEqual([]);
    expect(countIn(document)).toEqual(expected);
  });

  it('knows variables, however the version of GraphQL keeps them', () => {
    const document = 'query($x: Boolean!) { name @skip(if: $x) a: name @include(if: $x) b: name }';
    expect(countIn(document, { x: true })).toEqual({ 'Query.name': 2 });
    expect(countIn(document, { sources: {}, coerced: { x: true } })).toEqual({ 'Query.name': 2 });
    expect(countIn(document, { x: true, coerced: { x: false } })).toEqual({ 'Query.name': 2 });
    // What cannot be told counts.
    expect(countIn(document, {})).toEqual({ 'Query.name': 3 });
  });

  it('charges a subscription for its root when it begins, and for the rest at each event', () => {
    const info = infoOf('subscription { heard { name a: name } }');
    expect(counted(info)).toEqual({ 'Subscription.heard': 1 });
    const path = { key: 'name', prev: { key: 'heard' } };
    expect(counted({ ...info, path })).toEqual({ 'Animal.name': 2 });
  });

  it('hears of a field that decorators do not name', () => {
    const fields = new SchemaFields(SCHEMA, limited);
    const chains = { ...NO_CHAINS, headers: new HeaderMemo() };
    const info = { ...infoOf('{ a: self { b: self { name } } }'), fieldName: 'self' };
    expect(countSelections(info, fields)!.get(chains)).toBeUndefined();
    expect([fields.learn(info, chains), fields.learn(info, chains)]).toEqual([true, false]);
    expect(countSelections(info, fields)!.get(chains)).toBe(2);
  });
});

describe('a hostile document', () => {
  function chain(count: number, step: (next: number) => string, last: string): string {
    const fragments = Array.from({ length: count }, (_, i) => {
      return `fragment F${i} on Query { ${i + 1 < count ? step(i + 1) : last} }`;
    });
    return `{ ...F0 } ${fragments.join(' ')}`;
  }

  it.each<[string, string, Record<string, number> | undefined]>([
    [
      'of fragments that double',
      chain(400, (next) => `...F${next} ...F${next}`, 'name'),
      { 'Query.name': 1 },
    ],
    [
      'of fields that double',
      chain(40, (next) => `a: self { ...F${next} } b: self { ...F${next} }`, 'name'),
      { 'Query.name': 2 ** 39 },
    ],
    [
      'of a chain of fragments',
      chain(10_000, (next) => `...F${next}`, 'name'),
      { 'Query.name': 1 },
    ],
    ['deeper than the stack', chain(10_000, (next) => `self { ...F${next} }`, 'name'), undefined],
    [
      'with a cycle below a field',
      '{ ...A } fragment A on Query { name self { ...A } }',
      undefined,
    ],
    ['with a cycle', '{ name ...A } fragment A on Query { ...A }', { 'Query.name': 1 }],
    ['of very many selections', `{ ${'a: name '.repeat(60_000)} }`, undefined],
  ])('%s is counted, or given up, within bounds', (_name, document, expected) => {
    const info = infoOf(document);
    const before = performance.now();
    expect(counted(info)).toEqual(expected);
    expect(performance.now() - before).toBeLessThan(5_000);
  });

  it('whose merged selections are exponentially many is given up', () => {
    // Whether the k-th step from the end was "b" has to be remembered for every path.
    const k = 24;
    const free = (i: number): string =>
      `fragment N${i} on Query { ${i === 0 ? 'name' : `a: self { ...N${i - 1} } b: self { ...N${i - 1} }`} }`;
    const walk = (i: number): string =>
      `fragment W${i} on Query { a: self { ...W${i - 1} } b: self { ...W${i - 1} ...N${k} } }`;
    const steps = Array.from({ length: 30 }, (_, i) => walk(i + 1));
    const rest = Array.from({ length: k + 1 }, (_, i) => free(i));
    const document = `{ ...W30 } fragment W0 on Query { name } ${[...steps, ...rest].join(' ')}`;
    const before = performance.now();
    expect(countIn(document)).toBeUndefined();
    expect(performance.now() - before).toBeLessThan(5_000);
  });
});

describe('documents at random', () => {
  const directive = fc.constantFrom(
    '',
    '',
    '',
    '@skip(if: $t)',
    '@include(if: $f)',
    '@skip(if: $f)',
  );
  const alias = fc.constantFrom('', '', 'x', 'y');
  /** Fields with what may be selected below them, by type; fragments by number from `from` up. */
  const BELOW: Record<string, Record<string, string | undefined>> = {
    Query: { cat: 'Cat', animals: 'Animal', pets: 'Pet', name: undefined, self: 'Query' },
    Animal: { name: undefined, friend: 'Animal', friends: 'Animal' },
    Cat: { name: undefined, friend: 'Animal', friends: 'Animal', meow: undefined },
    Dog: { name: undefined, friend: 'Animal', friends: 'Animal', bark: undefined },
    Pet: {},
  };
  const FRAGMENTS = ['Query', 'Animal', 'Cat', 'Dog', 'Query', 'Animal'];

  function selections(type: string, depth: number, from: number): fc.Arbitrary<string> {
    const fields = Object.entries(BELOW[type]!)
      .filter(([, below]) => below === undefined || depth > 0)
      .map(([name, below]) =>
        fc
          .tuple(alias, directive, below ? selections(below, depth - 1, from) : fc.constant(''))
          .map(([as, when, set]) => {
            // The same name for different fields would not be a valid document.
            const written = as ? `${as}_${name}: ${name}` : name;
            return `${written} ${when} ${set && `{ ${set} }`}`;
          }),
      );
    const inner = type === 'Query' ? ['Query'] : ['Animal', 'Cat', 'Dog'];
    const inline = inner
      .filter((on) => depth > 0 && (on === type || type === 'Animal' || type === 'Pet'))
      .map((on) =>
        fc
          .tuple(directive, selections(on, depth - 1, from))
          .map(([when, set]) => `... on ${on} ${when} { ${set} }`),
      );
    const spreads = FRAGMENTS.flatMap((on, i) =>
      i >= from && (on === 'Query') === (type === 'Query')
        ? [directive.map((when) => `...F${i} ${when}`)]
        : [],
    );
    const one = fc.oneof(...fields, ...inline, ...spreads, fc.constant('__typename'));
    return fc.array(one, { minLength: 1, maxLength: 4 }).map((all) => all.join(' '));
  }

  const documents = fc
    .tuple(selections('Query', 3, 0), ...FRAGMENTS.map((on, i) => selections(on, 2, i + 1)))
    .map(([root, ...sets]) => {
      const fragments = sets.map((set, i) => `fragment F${i} on ${FRAGMENTS[i]} { ${set} }`);
      return `query($t: Boolean!, $f: Boolean = false) { ${root} } ${fragments.join(' ')}`;
    });

  it('are counted as GraphQL runs them', () => {
    fc.assert(
      fc.property(documents, (document) => {
        const values = { t: true, f: false };
        const expected = ran(document, values);
        const counts = countIn(document, values)!;
        // A friend is a cat or a dog here, never both: what is selected of the other does not run.
        for (const [name, count] of Object.entries(expected)) {
          expect(counts[name]).toBeGreaterThanOrEqual(count);
        }
        expect(counts['Query.name'] ?? 0).toBe(expected['Query.name'] ?? 0);
        expect(counts['Query.cat'] ?? 0).toBe(expected['Query.cat'] ?? 0);
      }),
      { numRuns: 300 },
    );
  });
});
