import { PATH_METADATA } from '@nestjs/common/constants.js';
import { reportingHandler } from './handler-run.js';

/** The metadata by which Nest finds routes, messages and fields. */
const HANDLER_METADATA = [
  PATH_METADATA,
  'websockets:message_mapping',
  'microservices:pattern',
  'graphql:resolver_type',
  'graphql:resolve_property',
];

/** Makes every handler of a class report what it returns, inherited ones included. */
export function reportHandlersOf({ prototype }: { readonly prototype: object }): void {
  for (const [name, handler] of handlersOf(prototype)) {
    const value = reportingHandler(handler);
    if (value === handler) continue;
    Object.defineProperty(prototype, name, { value, configurable: true, writable: true });
  }
}

/** The handlers by name; what a class overrides counts before what it inherits. */
function handlersOf(prototype: object): Map<PropertyKey, Function> {
  const handlers = new Map<PropertyKey, Function>();
  const seen = new Set<PropertyKey>();
  let owner: object | null = prototype;
  while (owner && owner !== Object.prototype) {
    for (const name of Reflect.ownKeys(owner)) {
      const value: unknown = Object.getOwnPropertyDescriptor(owner, name)?.value;
      if (!seen.has(name) && isHandler(value)) handlers.set(name, value);
      seen.add(name);
    }
    owner = Object.getPrototypeOf(owner) as object | null;
  }
  return handlers;
}

function isHandler(value: unknown): value is Function {
  if (typeof value !== 'function') return false;
  return HANDLER_METADATA.some((key) => Reflect.hasOwnMetadata(key, value));
}
