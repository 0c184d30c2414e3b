import type { Type } from '@nestjs/common';
import type { ModulesContainer } from '@nestjs/core';

/** Paths of a controller that the limits of the gateway are not meant for. */
export const OUTSIDE_GATEWAY_METADATA = 'nestjs-floodgate:outside-gateway';

/** The paths of all such controllers, as they are written. */
export function pathsOutsideGateway(modules: ModulesContainer): string[] {
  return [...modules.values()]
    .flatMap(({ controllers }) => [...controllers.values()])
    .flatMap(({ metatype }) => pathsOf(metatype as Type | null));
}

function pathsOf(controller: Type | null): string[] {
  if (!controller) return [];
  const paths: unknown = Reflect.getMetadata(OUTSIDE_GATEWAY_METADATA, controller);
  return (paths as string[] | undefined) ?? [];
}
