import type { OnApplicationBootstrap, Type } from '@nestjs/common';
import { Injectable, Logger, VERSION_NEUTRAL, VersioningType } from '@nestjs/common';
import { HOST_METADATA, PATH_METADATA, VERSION_METADATA } from '@nestjs/common/constants.js';
import {
  ApplicationConfig,
  HttpAdapterHost,
  MetadataScanner,
  ModulesContainer,
} from '@nestjs/core';
import { isPlainPath } from '../../gateway/routes/request-path.js';
import { isSkipped } from '../handler-chains.js';
import { servesHeadByGet, takesFirstRoute } from '../http-platform.js';
import { GatewaySkipCheck } from './gateway-skip-check.js';
import { RoutePattern } from './route-pattern.js';
import type { ServedRoute } from './served-routes.js';
import { ServedRoutes } from './served-routes.js';

/** Metadata of a method; Nest copies it to the handler that it gives to the platform. */
const MARK_METADATA = 'nestjs-floodgate:gateway-skip';

/** A method that `@SkipRateLimit()` leaves out. */
interface Mark {
  readonly owner: GatewaySkips;
  readonly name: string;
  /** Why the path of a request does not determine whether the method is called. */
  readonly problem: string | undefined;
}

/** A route, and the mark of its handler. */
interface MarkedRoute extends ServedRoute {
  readonly pattern: RoutePattern;
  readonly mark: Mark | undefined;
}

/** The paths that are skipped, of one HTTP method. */
class SkippedPaths {
  readonly texts = new Set<string>();
  readonly patterns: RoutePattern[] = [];

  has(path: string): boolean {
    if (this.texts.has(path)) return true;
    if (this.patterns.length === 0 || !isPlainPath(path)) return false;
    return this.patterns.some((pattern) => pattern.matches(path));
  }
}

/**
 * Knows which requests go to handlers that `@SkipRateLimit()` leaves out. The gateway runs before the
 * router, so it decides by the path: a request is skipped only if its path is written as the route is
 * and no other route could take it. All other requests are counted. On Fastify, `GatewaySkipCheck`
 * verifies afterwards that the route was the right one, whatever other routes there are.
 */
@Injectable()
export class GatewaySkips implements OnApplicationBootstrap {
  readonly #scanner = new MetadataScanner();
  readonly #paths = new Map<string, SkippedPaths>();

  constructor(
    private readonly modules: ModulesContainer,
    private readonly config: ApplicationConfig,
    private readonly routes: ServedRoutes,
    private readonly host: HttpAdapterHost,
    private readonly check: GatewaySkipCheck,
  ) {}

  /** Whether a request, by its method and target, goes to a handler that is left out. */
  has(method: string | undefined, target: string): boolean {
    if (this.#paths.size === 0) return false;
    const query = target.indexOf('?');
    const path = query === -1 ? target : target.slice(0, query);
    const paths = this.#paths.get(method ?? '') ?? this.#paths.get('ALL');
    return paths?.has(path) ?? false;
  }

  /** Marks the methods that are left out, before Nest registers their routes. */
  mark(): void {
    this.routes.startRecording();
    const users = this.#usersOfHandlers();
    for (const [handler, controllers] of users) {
      const skipping = controllers.filter((controller) => isSkipped(controller, handler));
      if (skipping.length === 0) continue;
      if (!this.check.isOn) this.check.start();
      const problem =
        skipping.length < controllers.length
          ? 'another controller inherits it, and is not left out'
          : this.#filterOf(skipping, handler);
      const mark: Mark = { owner: this, name: `${skipping[0]!.name}.${handler.name}`, problem };
      Reflect.defineMetadata(MARK_METADATA, mark, handler);
      if (problem === undefined) this.check.mark(handler);
    }
  }

  onApplicationBootstrap(): void {
    const routes = this.routes.all.map((route) => this.#marked(route));
    for (const [index, route] of routes.entries()) {
      if (!route.mark) continue;
      const problem = route.mark.problem ?? this.#problemOf(route, index, routes);
      if (problem === undefined) this.#skip(route);
      else warn(route, problem);
    }
  }

  /** The methods that handle routes, each with its controllers: a method can be inherited by several. */
  #usersOfHandlers(): Map<Function, Type[]> {
    const users = new Map<Function, Type[]>();
    const all = [...this.modules.values()].flatMap(({ controllers }) => [...controllers.values()]);
    const controllers = new Set(all.map(({ metatype }) => metatype as Type | null));
    for (const controller of controllers) {
      const prototype = controller?.prototype as Record<string, Function> | undefined;
      if (!controller || !prototype) continue;
      for (const name of this.#scanner.getAllMethodNames(prototype)) {
        const handler = prototype[name]!;
        if (!Reflect.hasMetadata(PATH_METADATA, handler)) continue;
        users.set(handler, [...(users.get(handler) ?? []), controller]);
      }
    }
    return users;
  }

  /** What chooses the handler besides the path, if anything does. */
  #filterOf(controllers: readonly Type[], handler: Function): string | undefined {
    if (
      controllers.some((controller) => Reflect.getMetadata(HOST_METADATA, controller) !== undefined)
    ) {
      return 'its controller is for some hosts only';
    }
    const versioning = this.config.getVersioning();
    if (this.check.isOn || !versioning || versioning.type === VersioningType.URI) return undefined;
    const isFiltered = controllers.some((controller) => {
      const version: unknown =
        Reflect.getMetadata(VERSION_METADATA, handler) ??
        Reflect.getMetadata(VERSION_METADATA, controller) ??
        versioning.defaultVersion;
      return version !== undefined && version !== VERSION_NEUTRAL;
    });
    return isFiltered ? 'its version is not in the path' : undefined;
  }

  #marked(route: ServedRoute): MarkedRoute {
    const mark = Reflect.getMetadata(MARK_METADATA, route.handler) as Mark | undefined;
    const isOwn = mark?.owner === this;
    return { ...route, pattern: new RoutePattern(route.path), mark: isOwn ? mark : undefined };
  }

  #problemOf(
    route: MarkedRoute,
    index: number,
    routes: readonly MarkedRoute[],
  ): string | undefined {
    if (!route.pattern.isClear) return 'its path has wildcards or patterns';
    if (this.check.isOn) return undefined;
    const isFirst = takesFirstRoute(this.host.httpAdapter);
    const other = routes.find((one, at) => {
      if (one === route || (one.mark && one.mark.problem === undefined)) return false;
      if (!shareMethod(one.method, route.method) || !one.pattern.overlaps(route.pattern)) {
        return false;
      }
      return !isFirst || at < index;
    });
    return other && `${other.method} ${other.path} may take its requests`;
  }

  #skip({ method, path, pattern }: MarkedRoute): void {
    const withHead = method === 'GET' && servesHeadByGet(this.host.httpAdapter);
    for (const one of withHead ? ['GET', 'HEAD'] : [method]) {
      const paths = this.#paths.get(one) ?? new SkippedPaths();
      this.#paths.set(one, paths);
      if (pattern.isText) paths.texts.add(path);
      else paths.patterns.push(pattern);
    }
  }
}

/** Whether a request can match both. A route for GET may answer HEAD. */
function shareMethod(one: string, other: string): boolean {
  const isGet = (method: string) => method === 'GET' || method === 'HEAD';
  return one === other || one === 'ALL' || other === 'ALL' || (isGet(one) && isGet(other));
}

function warn({ mark, method, path }: MarkedRoute, problem: string): void {
  new Logger('RateLimit').warn(
    `@SkipRateLimit() on ${mark!.name} does not leave ${method} ${path} out of the gateway's ` +
      `limits: ${problem}.`,
  );
}
