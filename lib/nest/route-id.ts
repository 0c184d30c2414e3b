import type { Type } from '@nestjs/common';
import {
  HOST_METADATA,
  METHOD_METADATA,
  PATH_METADATA,
  VERSION_METADATA,
} from '@nestjs/common/constants.js';

/**
 * Names a route for `scope: 'route'`: by class, method, version, host and path together, so that
 * two controllers of the same name do not share buckets, and always the same in every process.
 */
export function routeId(controller: Type, handler: Function): string {
  const parts = [
    `${controller.name}.${handler.name}`,
    read(METHOD_METADATA, handler),
    read(HOST_METADATA, controller),
    read(VERSION_METADATA, handler) ?? read(VERSION_METADATA, controller),
    read(PATH_METADATA, controller),
    read(PATH_METADATA, handler),
  ];
  // Colons separate the parts of a key.
  return parts.map((part) => encodeURIComponent(describe(part))).join('+');
}

function read(metadata: string, target: object): unknown {
  return Reflect.getMetadata(metadata, target);
}

function describe(part: unknown): string {
  if (Array.isArray(part)) return part.map(describe).join(',');
  const isText = typeof part === 'string' || typeof part === 'number' || typeof part === 'symbol';
  // A host may also be a pattern.
  return isText || part instanceof RegExp ? String(part) : '';
}
