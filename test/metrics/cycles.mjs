// @ts-check
/** @typedef {import('../support/sources.mjs').ImportGraph} ImportGraph */

/**
 * Groups of files that import each other in a circle, imports of types included (Tarjan's
 * strongly connected components).
 *
 * @param {ImportGraph} graph
 * @returns {string[][]}
 */
export function cyclesOf(graph) {
  /** @type {Map<string, { index: number, low: number, isOpen: boolean }>} */
  const seen = new Map();
  /** @type {string[]} */
  const open = [];
  /** @type {string[][]} */
  const cycles = [];

  /** @param {string} file */
  const visit = (file) => {
    const mark = { index: seen.size, low: seen.size, isOpen: true };
    seen.set(file, mark);
    open.push(file);
    for (const { to } of graph.get(file) ?? []) {
      if (!graph.has(to)) continue;
      const next = seen.get(to) ?? visit(to);
      if (next.isOpen) mark.low = Math.min(mark.low, next.low);
    }
    if (mark.low === mark.index) close(file);
    return mark;
  };

  /** @param {string} file */
  const close = (file) => {
    const group = open.splice(open.indexOf(file));
    for (const one of group) /** @type {{ isOpen: boolean }} */ (seen.get(one)).isOpen = false;
    const isCircle = group.length > 1 || graph.get(file)?.some(({ to }) => to === file);
    if (isCircle) cycles.push(group.sort());
  };

  for (const file of graph.keys()) if (!seen.has(file)) visit(file);
  return cycles;
}
