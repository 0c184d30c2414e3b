import type { Type } from '@nestjs/common';
import { Injectable } from '@nestjs/common';
import type { HandlerChains } from '../handler-chains.js';

/** The metadata of a resolver: the type whose field it resolves, and the name of that field. */
const RESOLVER_TYPE = 'graphql:resolver_type';
const RESOLVER_NAME = 'graphql:resolver_name';

/** The limited fields of all schemas, as the decorators of Nest name them. */
@Injectable()
export class LimitedFields {
  /** Undefined where several handlers claim a field: schemas of their own, told apart when they run. */
  readonly #chains = new Map<string, HandlerChains | undefined>();

  /** Takes note of a limited handler. */
  add(controller: Type, handler: Function, chains: HandlerChains): void {
    const type = (Reflect.getMetadata(RESOLVER_TYPE, handler) ??
      Reflect.getMetadata(RESOLVER_TYPE, controller)) as string | undefined;
    const name = (Reflect.getMetadata(RESOLVER_NAME, handler) ?? handler.name) as string;
    const field = `${type}.${name}`;
    this.#chains.set(field, this.#chains.has(field) ? undefined : chains);
  }

  /** The chains of a field, written as `Query.user`; undefined when they are not known. */
  at(field: string): HandlerChains | undefined {
    return this.#chains.get(field);
  }
}
