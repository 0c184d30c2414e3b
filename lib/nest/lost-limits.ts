import type { Type } from '@nestjs/common';
import { methodsOf } from './container-classes.js';
import { isLimited, isSkipped } from './handler-chains.js';
import { CHAINS_METADATA, CONNECTION_METADATA } from './metadata.js';
import { isHandler } from './slots/reporting-handlers.js';
import { GATEWAY_METADATA } from './transports/limit-gateway.js';

/** The methods that `@RateLimit` stands on, by the prototype that declares them. */
const decorated = new WeakMap<object, Set<PropertyKey>>();

/** Remembers a method that `@RateLimit` stands on: metadata can get lost. */
export function rememberLimited(prototype: object, name: PropertyKey): void {
  decorated.set(prototype, (decorated.get(prototype) ?? new Set()).add(name));
}

/** Where `@RateLimit` limits nothing in a class, and why. */
export function lostLimitsOf(type: Type): string[] {
  const lost = [...limitedMethodsOf(type)].flatMap(([name, owner]) => {
    const problem = problemOf(type, name, owner);
    return problem === undefined ? [] : [`${type.name}.${String(name)}, ${problem}`];
  });
  return hasNoHandlers(type) ? [`${type.name}, without handlers`, ...lost] : lost;
}

/** The names of decorated methods, each with the prototype that is the closest to have decorated it. */
function limitedMethodsOf({ prototype }: Type): Map<PropertyKey, object> {
  const methods = new Map<PropertyKey, object>();
  let owner = prototype as object | null;
  for (; owner; owner = Object.getPrototypeOf(owner) as object | null) {
    for (const name of decorated.get(owner) ?? []) {
      if (!methods.has(name)) methods.set(name, owner);
    }
  }
  return methods;
}

function problemOf(type: Type, name: PropertyKey, owner: object): string | undefined {
  const method = (type.prototype as Record<PropertyKey, unknown>)[name];
  if (typeof method !== 'function') return undefined;
  if (Reflect.hasMetadata(CHAINS_METADATA, method)) {
    return isHandler(method) || isConnection(type, method) ? undefined : 'not a handler';
  }
  const isOwn = method === Object.getOwnPropertyDescriptor(owner, name)?.value;
  if (isOwn) return 'replaced by a decorator above @RateLimit';
  if (!isHandler(method) || isLimited(type, method) || isSkipped(type, method)) return undefined;
  return `overrides the limited method of ${owner.constructor.name}`;
}

function isConnection(type: Type, method: Function): boolean {
  return (
    Reflect.hasMetadata(CONNECTION_METADATA, method) && Reflect.hasMetadata(GATEWAY_METADATA, type)
  );
}

/** Whether a class is decorated that has nothing to be limited. */
function hasNoHandlers(type: Type): boolean {
  if (!Reflect.hasOwnMetadata(CHAINS_METADATA, type)) return false;
  return ![...methodsOf(type).values()].some(isHandler);
}
