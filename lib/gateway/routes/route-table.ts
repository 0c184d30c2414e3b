import type { CheckedRoute } from '../config/check-gateway-config.js';
import { foldCase } from './fold-case.js';
import { normalizeHost } from './host-name.js';
import type { FoldedPath } from './path-tree.js';
import { PathTree } from './path-tree.js';
import { readPath } from './request-path.js';

const ANY_HOST = '*';
const WILDCARD = '*.';

/** How paths are compared. */
export interface RouteTableOptions {
  /**
   * Whether `/API` is another path than `/api`.
   * @default false
   */
  readonly caseSensitive?: boolean;
}

/** The route that a request is on. */
export interface RoutePlace {
  /** The first route in the order of the table that any reading of the path matches. */
  readonly route: CheckedRoute | undefined;
  /**
   * Whether servers that read the path in different ways would take different routes. No honest
   * client sends such a path. If it is refused, it does not matter how the backend reads it.
   */
  readonly isAmbiguous: boolean;
}

/**
 * Finds the route of a request. It never changes: other routes are another table.
 *
 * Routes of the very host come first, then those of wildcards above it, the closest first, then those
 * of any host. Among the routes of one host the longest path wins, by whole segments: `/api` is for
 * `/api` and `/api/users`, not for `/apis`. Hosts are compared as DNS does it, without port. Paths are
 * compared in the forms that `RequestPath` describes, ignoring letter case unless `caseSensitive` is
 * set: a server that ignores case would serve other spellings of a path without the limits of its
 * route. Of routes that differ only in case, the one that is written like the request counts, else the
 * first. The cost of finding a route does not depend on their number.
 */
export class RouteTable {
  readonly #fold: (path: string) => string;
  /** Routes by host, those of wildcards by what follows the star. */
  readonly #hosts = new Map<string, PathTree>();
  readonly #wildcards = new Map<string, PathTree>();
  readonly #anyHost = new PathTree();

  constructor(routes: readonly CheckedRoute[], { caseSensitive = false }: RouteTableOptions = {}) {
    this.#fold = caseSensitive ? (path) => path : foldCase;
    for (const route of routes) this.#treeFor(route.host).add(route, this.#fold(route.path));
  }

  /**
   * Finds the route of a request by its `Host` field and its target (`req.url`). If the target names a
   * host itself, that host is ignored, as applications use the field.
   */
  find(host: string | undefined, target: string): RoutePlace {
    const { readings, cut } = readPath(target);
    const paths = readings.map((path) => ({ path, folded: this.#fold(path) }));
    const trees = this.#treesOf(host);
    return {
      route: firstOf(trees, paths),
      isAmbiguous: cut || (paths.length > 1 && differ(trees, paths)),
    };
  }

  /** The route of a request, if it is on one. */
  match(host: string | undefined, target: string): CheckedRoute | undefined {
    return this.find(host, target).route;
  }

  /** Whether servers would take different routes. */
  isAmbiguous(host: string | undefined, target: string): boolean {
    return this.find(host, target).isAmbiguous;
  }

  #treeFor(host: string): PathTree {
    if (host === ANY_HOST) return this.#anyHost;
    const wild = host.startsWith(WILDCARD);
    const trees = wild ? this.#wildcards : this.#hosts;
    const name = wild ? host.slice(WILDCARD.length) : host;
    const tree = trees.get(name) ?? new PathTree();
    trees.set(name, tree);
    return tree;
  }

  /** The trees with routes for a host, in order of precedence. */
  #treesOf(host: string | undefined): readonly PathTree[] {
    const name = host === undefined ? undefined : normalizeHost(host);
    if (name === undefined) return [this.#anyHost];
    const own = this.#hosts.get(name);
    const trees = own ? [own, ...this.#wildcardsAbove(name)] : this.#wildcardsAbove(name);
    return [...trees, this.#anyHost];
  }

  #wildcardsAbove(name: string): readonly PathTree[] {
    const trees: PathTree[] = [];
    if (this.#wildcards.size === 0) return trees;
    for (let dot = name.indexOf('.'); dot !== -1; dot = name.indexOf('.', dot + 1)) {
      const tree = this.#wildcards.get(name.slice(dot + 1));
      if (tree) trees.push(tree);
    }
    return trees;
  }
}

/** Whether readings of a path lead to different routes. */
function differ(trees: readonly PathTree[], paths: readonly FoldedPath[]): boolean {
  return new Set(paths.map((path) => firstOf(trees, [path]))).size > 1;
}

function firstOf(
  trees: readonly PathTree[],
  paths: readonly FoldedPath[],
): CheckedRoute | undefined {
  for (const tree of trees) {
    const route = longestIn(tree, paths);
    if (route) return route;
  }
  return undefined;
}

function longestIn(tree: PathTree, paths: readonly FoldedPath[]): CheckedRoute | undefined {
  let longest: CheckedRoute | undefined;
  for (const path of paths) {
    const found = tree.find(path);
    if (found && found.path.length > (longest?.path.length ?? 0)) longest = found;
  }
  return longest;
}
