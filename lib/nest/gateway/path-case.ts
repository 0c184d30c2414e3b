import type { OnApplicationBootstrap } from '@nestjs/common';
import { Injectable } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { isCaseSensitive } from '../http-platform.js';
import { RoutePattern } from './route-pattern.js';
import { ServedRoutes } from './served-routes.js';

/**
 * Decides whether letter case counts in the paths of the gateway's routes: only if the platform
 * distinguishes paths by it and no route of the application takes paths of any length. Such a route may
 * forward requests to a service that ignores case, where another spelling would escape the limits.
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
