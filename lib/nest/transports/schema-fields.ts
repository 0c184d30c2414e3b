import type { HandlerChains } from '../handler-chains.js';
import type { GraphqlInfo, Schema, SchemaType } from './graphql-info.js';
import type { LimitedFields } from './limited-fields.js';

/** A field of a type: which limited handlers may resolve it, and what can be selected below it. */
export interface SchemaField {
  readonly handlers: ReadonlySet<HandlerChains>;
  /** The name of the type of its value; undefined for a leaf. */
  readonly below: string | undefined;
}

const UNKNOWN: SchemaField = { handlers: new Set(), below: undefined };

/** What counting has to know of a schema. Everything is looked up once: schemas do not change. */
export class SchemaFields {
  readonly #fields = new Map<string, SchemaField>();
  readonly #possible = new Map<string, ReadonlySet<string>>();
  /** Fields whose handler is not the one that decorators name: a type was renamed, for instance. */
  readonly #learned = new Map<string, HandlerChains>();

  constructor(
    private readonly schema: Schema,
    private readonly limited: LimitedFields,
  ) {}

  /** Hears which handler a field has. Returns whether that is news. */
  learn({ parentType, fieldName }: GraphqlInfo, handler: HandlerChains): boolean {
    if (this.#handlerOf(parentType, fieldName) === handler) return false;
    this.#learned.set(`${parentType.name}.${fieldName}`, handler);
    this.#fields.clear();
    return true;
  }

  /** The type at which the selections of an operation begin. */
  root(operation: string): string | undefined {
    return this.schema.getRootType(operation)?.name;
  }

  field(type: string, name: string): SchemaField {
    const key = `${type}.${name}`;
    const known = this.#fields.get(key) ?? this.#find(type, name);
    // What does not exist is not remembered: callers could name any number of fields.
    if (known !== UNKNOWN) this.#fields.set(key, known);
    return known;
  }

  /** The type to select from below a condition; undefined when no value of the type meets it. */
  narrow(type: string, condition: string): string | undefined {
    if (type === condition) return type;
    const [given, wanted] = [this.#possibleOf(type), this.#possibleOf(condition)];
    const [fewer, more] = given.size < wanted.size ? [given, wanted] : [wanted, given];
    for (const name of fewer) {
      // An object type has all fields of its interfaces; others may lack those of the condition.
      if (more.has(name)) return given.has(type) ? type : condition;
    }
    return undefined;
  }

  #find(type: string, name: string): SchemaField {
    const fields = this.schema.getType(type)?.getFields?.() ?? {};
    if (!Object.hasOwn(fields, name)) return UNKNOWN;
    const handlers = new Set<HandlerChains>();
    for (const possible of this.#possibleOf(type)) {
      const handler = this.#handlerOf(this.schema.getType(possible)!, name);
      if (handler) handlers.add(handler);
    }
    return { handlers, below: namedType(fields[name]!.type).name };
  }

  /** An object type inherits from its interfaces what it does not resolve itself. */
  #handlerOf(type: SchemaType, name: string): HandlerChains | undefined {
    const types = [type, ...(type.getInterfaces?.() ?? [])].map((one) => `${one.name}.${name}`);
    const learned = this.#learned.get(types[0]!);
    if (learned) return learned;
    return types.map((field) => this.limited.at(field)).find((one) => one !== undefined);
  }

  /** The names of the object types that a value of this type may have. */
  #possibleOf(name: string): ReadonlySet<string> {
    const known = this.#possible.get(name);
    if (known) return known;
    const type = this.schema.getType(name);
    if (!type) return new Set();
    const objects = this.schema.getPossibleTypes(type).map((one) => one.name!);
    const possible = new Set(objects.length > 0 ? objects : [name]);
    this.#possible.set(name, possible);
    return possible;
  }
}

function namedType(type: SchemaType): SchemaType {
  return type.ofType ? namedType(type.ofType) : type;
}
