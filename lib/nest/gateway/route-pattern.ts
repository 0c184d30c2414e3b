/** A segment: a text, any one segment, all that follows, or syntax that differs between platforms. */
type Segment = { readonly text: string } | 'one' | 'rest' | 'odd';

const TEXT = /^[\w.~$&',=@-]+$/;
const ONE = /^:\w+$/;
const REST = /^(?:\*\w*|\{\*\w*\})$/;

/**
 * The path of a route, as far as all platforms read it in the same way: segments of text, and segments
 * that are one parameter each. Of anything else it is assumed that it could match.
 */
export class RoutePattern {
  readonly #segments: readonly Segment[];

  constructor(readonly path: string) {
    this.#segments = path.split('/').filter(isNotEmpty).map(segmentOf);
  }

  /** Whether it is known of every path whether it matches. */
  get isClear(): boolean {
    return this.#segments.every((segment) => segment !== 'rest' && segment !== 'odd');
  }

  /** Whether it has no parameters, so that it matches one path. */
  get isText(): boolean {
    return this.#segments.every((segment) => typeof segment === 'object');
  }

  /** Whether it matches paths of any length, as routes of proxies do. */
  get isOpen(): boolean {
    return !this.isClear;
  }

  /** Whether a clear pattern matches a path without escapes, dots and empty segments. */
  matches(path: string): boolean {
    const names = path.split('/').filter(isNotEmpty);
    return (
      names.length === this.#segments.length &&
      this.#segments.every((segment, i) => typeof segment !== 'object' || segment.text === names[i])
    );
  }

  /** Whether some path may match both. */
  overlaps(pattern: RoutePattern): boolean {
    for (let i = 0; ; i++) {
      const [own, other] = [this.#segments[i], pattern.#segments[i]];
      if (own === undefined && other === undefined) return true;
      if (isOpen(own) || isOpen(other)) return true;
      if (own === undefined || other === undefined || areDifferent(own, other)) return false;
    }
  }
}

function segmentOf(name: string): Segment {
  if (TEXT.test(name)) return { text: name };
  if (ONE.test(name)) return 'one';
  return REST.test(name) ? 'rest' : 'odd';
}

function isNotEmpty(name: string): boolean {
  return name !== '';
}

function isOpen(segment: Segment | undefined): boolean {
  return segment === 'rest' || segment === 'odd';
}

/** Ignores letter case, which may not count. */
function areDifferent(one: Segment, other: Segment): boolean {
  if (typeof one !== 'object' || typeof other !== 'object') return false;
  return one.text.toLowerCase() !== other.text.toLowerCase();
}
