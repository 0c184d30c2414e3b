import type { Type } from '@nestjs/common';
import type { ModulesContainer } from '@nestjs/core';
import { MetadataScanner } from '@nestjs/core';

/**
 * The classes of all controllers and providers of an application, each once. Those of values and of
 * what factories return are known once Nest has made them.
 */
export function classesIn(modules: ModulesContainer): Set<Type> {
  const classes = new Set<Type>();
  for (const { controllers, providers } of modules.values()) {
    for (const wrapper of [...controllers.values(), ...providers.values()]) {
      const type: unknown = wrapper.isNotMetatype ? classOf(wrapper.instance) : wrapper.metatype;
      if (isClass(type)) classes.add(type);
    }
  }
  return classes;
}

function classOf(instance: unknown): unknown {
  if (typeof instance !== 'object' || instance === null) return undefined;
  const prototype = Object.getPrototypeOf(instance) as object | null;
  return prototype === Object.prototype ? undefined : prototype?.constructor;
}

function isClass(type: unknown): type is Type {
  return typeof type === 'function' && Boolean(type.prototype);
}

/** The methods of a class by name, as Nest finds them: inherited ones included. */
export function methodsOf({ prototype }: Type): Map<string, Function> {
  const methods = prototype as Record<string, Function>;
  const names = new MetadataScanner().getAllMethodNames(methods);
  return new Map(names.map((name) => [name, methods[name]!]));
}
