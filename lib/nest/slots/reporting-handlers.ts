import type { Type } from '@nestjs/common';
import { Injectable } from '@nestjs/common';
import { PATH_METADATA } from '@nestjs/common/constants.js';
import { ModulesContainer } from '@nestjs/core';
import { mayLend } from '../chain-options.js';
import { classesIn, methodsOf } from '../container-classes.js';
import { isLimited, mergedChains } from '../handler-chains.js';
import { reportingHandler } from './handler-run.js';

/** The metadata by which Nest finds routes, messages and fields. */
const HANDLER_METADATA = [
  PATH_METADATA,
  'websockets:message_mapping',
  'microservices:pattern',
  'graphql:resolver_type',
  'graphql:resolve_property',
  'graphql:resolve_reference',
];

/**
 * Makes every handler that may hold slots report what it returns. First done when the application is
 * made: Nest has made no routes, messages or fields of them yet.
 */
@Injectable()
export class ReportingHandlers {
  constructor(private readonly modules: ModulesContainer) {
    this.replaceAll();
  }

  /** Done again when all providers are there: a factory may have returned a resolver. */
  replaceAll(): void {
    for (const type of classesIn(this.modules)) {
      for (const [name, handler] of methodsOf(type)) {
        if (isHandler(handler) && mayHoldSlots(type, handler)) replace(type, name, handler);
      }
    }
  }
}

/** Whether Nest calls a method for a request or a message. */
export function isHandler(method: Function): boolean {
  return HANDLER_METADATA.some((key) => Reflect.hasOwnMetadata(key, method));
}

function mayHoldSlots(type: Type, handler: Function): boolean {
  return isLimited(type, handler) && mergedChains(type, handler).some(mayLend);
}

/** Replaces a handler in the class that declares it, once for all applications of the process. */
function replace({ prototype }: Type, name: string, handler: Function): void {
  const value = reportingHandler(handler);
  if (value === handler) return;
  let owner = prototype as object;
  while (!Object.hasOwn(owner, name)) owner = Object.getPrototypeOf(owner) as object;
  Object.defineProperty(owner, name, { value, configurable: true, writable: true });
}
