import type { CheckedRoute } from './check-gateway-config.js';
import { normalizeHost } from './gateway-host.js';
import { PathTree } from './path-tree.js';
import { readPath } from './request-path.js';

const ANY_HOST = '*';
const WILDCARD = '*.';

/**
 * Tells which route a request belongs to. Never changes: new routes are a new table.
 *
 * Routes of the very host come first, then those of wildcards above it, the closest first, then those
 * of any host. Among the routes of one host the longest path wins, by whole segments: `/api` is for
 * `/api` and `/api/users`, not for `/apis`. Hosts are compared as DNS does it, without port. Paths are
 * compared with regard to case, in the forms that `RequestPath` describes. Finding a route costs the
 * same however many there are.
 */
export class RouteTable {
  /** Routes by host, those of wildcards by what follows the star. */
  readonly #hosts = new Map<string, PathTree>();
  readonly #wildcards = new Map<string, PathTree>();
  readonly #anyHost = new PathTree();

  constructor(routes: readonly CheckedRoute[]) {
    for (const route of routes) this.#treeFor(route.host).add(route);
  }

  /**
   * The route of a request, by its `Host` field and its target (`req.url`). A target that names a
   * host itself is read for its path alone, as applications go by the field. A path that can be read
   * in several ways belongs to the first route in the order above that any of them finds.
   */
  match(host: string | undefined, path: string): CheckedRoute | undefined {
    const { readings } = readPath(path);
    for (const tree of this.#treesOf(host)) {
      const route = longestIn(tree, readings);
      if (route) return route;
    }
    return undefined;
  }

  /**
   * Whether servers that read the path in different ways would go by different routes. No honest
   * client sends such a path: who refuses it need not care which way the backend reads.
   */
  isAmbiguous(host: string | undefined, path: string): boolean {
    const { readings, cut } = readPath(path);
    if (cut || readings.length === 1) return cut;
    const trees = this.#treesOf(host);
    return new Set(readings.map((reading) => firstIn(trees, reading))).size > 1;
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

  /** All that have routes for a host, in the order in which they are asked. */
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

function firstIn(trees: readonly PathTree[], path: string): CheckedRoute | undefined {
  for (const tree of trees) {
    const found = tree.find(path);
    if (found) return found;
  }
  return undefined;
}

function longestIn(tree: PathTree, paths: readonly string[]): CheckedRoute | undefined {
  let longest: CheckedRoute | undefined;
  for (const path of paths) {
    const found = tree.find(path);
    if (found && found.path.length > (longest?.path.length ?? 0)) longest = found;
  }
  return longest;
}
