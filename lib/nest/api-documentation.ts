import type { Type } from '@nestjs/common';
import { HttpStatus, Inject, Injectable, RequestMethod } from '@nestjs/common';
import { MetadataScanner, ModulesContainer } from '@nestjs/core';
import { denialDocs } from './denial-docs.js';
import { isLimited } from './handler-chains.js';
import type { CheckedOptions } from './rate-limit-options.js';
import { CHECKED_OPTIONS } from './rate-limit.module-definition.js';

/** Where @nestjs/swagger looks for the responses of a handler or a class. */
const RESPONSES = 'swagger/apiResponse';
/** What the compiler plugin of @nestjs/swagger adds to classes. */
const PLUGIN_FACTORY = '_OPENAPI_METADATA_FACTORY';
/** What the plugin tells of a handler that has nothing to do with its response. */
const OF_OPERATION = ['summary', 'deprecated', 'tags'];
/** Where Nest keeps the verb of a route, and a status that is not the usual one. */
const VERB = 'method';
const STATUS = '__httpCode__';

type Responses = Readonly<Record<string, object>>;

/** What the plugin found out about a handler. */
interface PluginEntry {
  readonly status?: number;
  readonly type?: unknown;
}

/** What was written here, by whichever application of the process. */
const written = new WeakSet<object>();

/**
 * Documents the 429 of limited handlers where @nestjs/swagger looks for it, if it is there at all.
 * Done when the application is made, since documents may be made before it is initialised.
 */
@Injectable()
export class ApiDocumentation {
  readonly #denial: object;

  constructor(modules: ModulesContainer, @Inject(CHECKED_OPTIONS) options: CheckedOptions) {
    this.#denial = denialDocs(options);
    written.add(this.#denial);
    for (const { controllers } of modules.values()) {
      for (const { metatype } of controllers.values()) this.#document(metatype as Type);
    }
  }

  #document(controller: Type): void {
    if (documents429(responsesOf(controller))) return;
    const prototype = controller.prototype as Record<string, Function>;
    for (const name of new MetadataScanner().getAllMethodNames(prototype)) {
      const handler = prototype[name]!;
      const own = responsesOf(handler);
      if (!isRoute(handler) || !isLimited(controller, handler) || documents429(own)) continue;
      const others = own ?? successOf(controller, name, handler);
      const documented = { ...others, [HttpStatus.TOO_MANY_REQUESTS]: this.#denial };
      Reflect.defineMetadata(RESPONSES, documented, handler);
    }
  }
}

function responsesOf(target: Function): Responses | undefined {
  return Reflect.getMetadata(RESPONSES, target) as Responses | undefined;
}

/** Whether the user has said what a 429 is. */
function documents429(responses: Responses | undefined): boolean {
  const documented = responses?.[HttpStatus.TOO_MANY_REQUESTS];
  return documented !== undefined && !written.has(documented);
}

function isRoute(handler: Function): boolean {
  return Reflect.hasMetadata(VERB, handler);
}

/** What @nestjs/swagger would say of a handler that documents nothing; told one response, it does not. */
function successOf(controller: Type, name: string, handler: Function): Responses {
  const { status, type, ...rest } = pluginEntry(controller, name);
  const isArray = Array.isArray(type);
  const known = type === undefined ? {} : { type: isArray ? (type[0] as unknown) : type, isArray };
  return { [status ?? usualStatus(handler)]: { description: '', ...rest, ...known } };
}

function pluginEntry(controller: Type, name: string): PluginEntry {
  const found = pluginMetadata(controller)[name] ?? {};
  const ofResponse = Object.entries(found).filter(([field]) => !OF_OPERATION.includes(field));
  return Object.fromEntries(ofResponse);
}

/** What is broken there is told by @nestjs/swagger, if it is used at all. */
function pluginMetadata(controller: Type): Readonly<Record<string, PluginEntry>> {
  const { [PLUGIN_FACTORY]: factory } = controller as { [PLUGIN_FACTORY]?: unknown };
  try {
    return typeof factory === 'function'
      ? (factory.call(controller) as Record<string, object>)
      : {};
  } catch {
    return {};
  }
}

function usualStatus(handler: Function): number {
  const status = Reflect.getMetadata(STATUS, handler) as number | undefined;
  const isPost = Reflect.getMetadata(VERB, handler) === RequestMethod.POST;
  return status ?? (isPost ? HttpStatus.CREATED : HttpStatus.OK);
}
