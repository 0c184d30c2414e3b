import type { CheckedRoute } from '../config/check-gateway-config.js';

interface Node {
  /** Several only if letter case is folded and they differ in nothing else. */
  routes: readonly CheckedRoute[];
  readonly below: Map<string, Node>;
}

/** A path of a request, as it is written and as it is looked up. */
export interface FoldedPath {
  readonly path: string;
  /** The path in folded letter case, or the same path if case counts. */
  readonly folded: string;
}

/** Routes of one host, by the segments of their paths. */
export class PathTree {
  readonly #root: Node = newNode();

  /** Adds a route under its folded path. */
  add(route: CheckedRoute, folded: string): void {
    let node = this.#root;
    for (const segment of folded.split('/').filter((name) => name !== '')) {
      const next = node.below.get(segment) ?? newNode();
      node.below.set(segment, next);
      node = next;
    }
    node.routes = [...node.routes, route];
  }

  /** Finds the route with the longest path that is a prefix of this one, by whole segments. */
  find({ path, folded }: FoldedPath): CheckedRoute | undefined {
    let node: Node | undefined = this.#root;
    let found = node.routes;
    // Goes no deeper than the routes do, however long the path is.
    for (let start = 1; start < folded.length;) {
      const slash = folded.indexOf('/', start);
      const end = slash === -1 ? folded.length : slash;
      node = node.below.get(folded.slice(start, end));
      if (!node) break;
      if (node.routes.length > 0) found = node.routes;
      start = end + 1;
    }
    return found.length > 1 ? closestTo(path, found) : found[0];
  }
}

/** The route whose path is written in the same letter case, else the first. */
function closestTo(path: string, routes: readonly CheckedRoute[]): CheckedRoute {
  return routes.find((route) => `${path}/`.startsWith(`${route.path}/`)) ?? routes[0]!;
}

function newNode(): Node {
  return { routes: [], below: new Map() };
}
