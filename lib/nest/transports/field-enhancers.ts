import type { Type } from '@nestjs/common';
import { Injectable } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import type { HandlerChains } from '../handler-chains.js';

type NestModule = ReturnType<ModulesContainer['values']> extends Iterable<infer M> ? M : never;

/** As much of the options of a `GraphQLModule` as is read. */
interface GraphqlModuleOptions {
  readonly include?: readonly Function[];
  readonly fieldResolverEnhancers?: readonly string[];
}

/** Where a `GraphQLModule` keeps its options. */
const MODULE_OPTIONS = 'GqlModuleOptions';
/** The metadata of a resolver: the type whose field it resolves. */
const RESOLVER_TYPE = 'graphql:resolver_type';
const ROOT_TYPES: readonly unknown[] = ['Query', 'Mutation', 'Subscription'];

/** How many fields a warning names. */
const MAX_NAMED = 5;

/** Knows for which fields Nest runs guards and interceptors: below the root, for none by default. */
@Injectable()
export class FieldEnhancers {
  readonly #unreached: string[] = [];
  readonly #settings = new Set<string>();

  constructor(private readonly modules: ModulesContainer) {}

  /** Whether the chains of a field are enforced. Takes note of those that are not. */
  reach(controller: Type, handler: Function, chains: HandlerChains): boolean {
    if (ROOT_TYPES.includes(Reflect.getMetadata(RESOLVER_TYPE, handler))) return true;
    const needed = [
      ...(chains.guard.length > 0 ? ['guards'] : []),
      ...(chains.interceptor.length > 0 ? ['interceptors'] : []),
    ];
    const lacking = this.#optionsFor(controller)
      .map(({ fieldResolverEnhancers: set = [] }) => set)
      .filter((set) => needed.some((one) => !set.includes(one)));
    if (lacking.length === 0) return true;
    this.#unreached.push(`${controller.name}.${handler.name}`);
    for (const one of [...lacking.flat(), ...needed]) this.#settings.add(one);
    return false;
  }

  /** What to set so that all fields are reached; undefined when they are. */
  get warning(): string | undefined {
    if (this.#unreached.length === 0) return undefined;
    const named = this.#unreached.slice(0, MAX_NAMED).join(', ');
    const more = this.#unreached.length - MAX_NAMED;
    const settings = [...this.#settings].map((one) => `'${one}'`).join(', ');
    return (
      `@RateLimit has no effect on ${named}${more > 0 ? ` and ${more} more` : ''}: below the root ` +
      'of an operation Nest runs guards and interceptors only if it is told to. Set ' +
      `fieldResolverEnhancers: [${settings}] in the options of GraphQLModule, or write ` +
      '@SkipRateLimit() where no limit is meant.'
    );
  }

  /** The options of every `GraphQLModule` that makes a schema of this class. */
  #optionsFor(controller: Type): GraphqlModuleOptions[] {
    const modules = [...this.modules.values()];
    const homes = modules.filter((one) => hasProvider(one, controller));
    return modules
      .map((one) => one.providers.get(MODULE_OPTIONS)?.instance as GraphqlModuleOptions | undefined)
      .filter((options) => options !== undefined)
      .filter(({ include = [] }) => {
        if (include.length === 0) return true;
        const included = withImports(modules.filter(({ metatype }) => include.includes(metatype)));
        return homes.some((one) => included.has(one));
      });
  }
}

function hasProvider({ providers }: NestModule, controller: Type): boolean {
  return [...providers.values()].some(({ metatype }) => metatype === controller);
}

function withImports(modules: readonly NestModule[]): ReadonlySet<NestModule> {
  const all = new Set(modules);
  // A set is walked to its end, which moves on as it grows.
  for (const module of all) for (const imported of module.imports) all.add(imported);
  return all;
}
