import type { ExecutionContext } from '@nestjs/common';

/*
 * As much of what GraphQL tells a resolver as is read here. The package `graphql` itself is not
 * imported: it is optional, and two copies of it in one process do not accept each other's objects.
 */

/** A boolean argument of `@skip` or `@include`, as it is written. */
export interface DirectiveNode {
  readonly name: { readonly value: string };
  readonly arguments?: readonly {
    readonly name: { readonly value: string };
    readonly value: {
      readonly kind: string;
      /** Of a literal. */
      readonly value?: unknown;
      /** Of a variable. */
      readonly name?: { readonly value: string };
    };
  }[];
}

/** A list of selections in braces. */
export interface SelectionSetNode {
  readonly selections: readonly SelectionNode[];
}

/** A field, a fragment spread or an inline fragment. */
export interface SelectionNode {
  readonly kind: string;
  /** Of a field or a spread. */
  readonly name?: { readonly value: string };
  readonly alias?: { readonly value: string } | undefined;
  readonly directives?: readonly DirectiveNode[] | undefined;
  readonly typeCondition?: { readonly name: { readonly value: string } } | undefined;
  readonly selectionSet?: SelectionSetNode | undefined;
}

/** A type of a schema. Which of these it has depends on its kind. */
export interface SchemaType {
  readonly name?: string;
  /** Of a list or a type that is not null: what is inside. */
  readonly ofType?: SchemaType;
  getFields?(): Readonly<Record<string, { readonly type: SchemaType }>>;
  getInterfaces?(): readonly SchemaType[];
}

/** A schema. */
export interface Schema {
  getType(name: string): SchemaType | null | undefined;
  getRootType(operation: string): SchemaType | null | undefined;
  /** The object types of an interface or a union; none for anything else. */
  getPossibleTypes(type: SchemaType): readonly SchemaType[];
}

/** Where in a response a field stands; the key is a number in a list. */
export interface ResponsePath {
  readonly prev?: ResponsePath | undefined;
  readonly key: string | number;
}

/** What GraphQL tells the resolver of a field. */
export interface GraphqlInfo {
  readonly fieldName: string;
  readonly parentType: SchemaType & { readonly name: string };
  readonly path: ResponsePath;
  readonly schema: Schema;
  readonly fragments: Readonly<Record<string, SelectionNode>>;
  readonly operation: { readonly operation: string; readonly selectionSet: SelectionSetNode };
  /** Made anew for each execution, whatever it is an execution of. */
  readonly variableValues: Readonly<Record<string, unknown>>;
}

/** The parent, the arguments, the context and the info; a reference of a federation has no arguments. */
const ALL_ARGS = 4;

/** What a resolver was called with: the context of its operation, and what GraphQL tells. */
export function resolverArgs(context: ExecutionContext): {
  readonly graphql: unknown;
  /** Undefined for what is no field: a reference of a federation. */
  readonly info: GraphqlInfo | undefined;
} {
  const args: unknown[] = context.getArgs();
  const isField = args.length >= ALL_ARGS;
  return {
    graphql: args[isField ? 2 : 1],
    info: isField ? (args[ALL_ARGS - 1] as GraphqlInfo) : undefined,
  };
}
