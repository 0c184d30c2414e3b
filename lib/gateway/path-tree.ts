import type { CheckedRoute } from './check-gateway-config.js';

interface Node {
  route: CheckedRoute | undefined;
  readonly below: Map<string, Node>;
}

/** Routes of one host, by the segments of their paths. */
export class PathTree {
  readonly #root: Node = newNode();

  /** Takes a route in. Of two with the same path the later one counts. */
  add(route: CheckedRoute): void {
    let node = this.#root;
    for (const segment of route.path.split('/').filter((name) => name !== '')) {
      const next = node.below.get(segment) ?? newNode();
      node.below.set(segment, next);
      node = next;
    }
    node.route = route;
  }

  /** The route of the longest path that is, in whole segments, the beginning of this one. */
  find(path: string): CheckedRoute | undefined {
    let node: Node | undefined = this.#root;
    let found = node.route;
    // Goes no deeper than the routes do, however long the path is.
    for (let start = 1; start < path.length;) {
      const slash = path.indexOf('/', start);
      const end = slash === -1 ? path.length : slash;
      node = node.below.get(path.slice(start, end));
      if (!node) break;
      found = node.route ?? found;
      start = end + 1;
    }
    return found;
  }
}

function newNode(): Node {
  return { route: undefined, below: new Map() };
}
