import type { OnApplicationBootstrap } from '@nestjs/common';
import { Injectable } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { isCaseSensitive } from './http-platform.js';
import { RoutePattern } from './route-pattern.js';
import { ServedRoutes } from './served-routes.js';

/**
 * Whether letter case counts in the paths of a gateway's routes: where the platform tells paths apart
 * by it, and no route takes all that comes. Such a route may hand requests on to a service that
 * ignores case, where other spellings of a path would be the same path without its limits.
 */
@Injectable()
export class PathCase implements OnApplicationBootstrap {
  #counts = false;

  constructor(
    private readonly host: HttpAdapterHost,
    private readonly routes: ServedRoutes,
  ) {}

  get counts(): boolean {
    return this.#counts;
  }

  onApplicationBootstrap(): void {
    const adapter = this.host.httpAdapter;
    if (!adapter) return;
    const handsOn = this.routes.all.some(({ path }) => new RoutePattern(path).isOpen);
    this.#counts = !handsOn && isCaseSensitive(adapter);
  }
}
