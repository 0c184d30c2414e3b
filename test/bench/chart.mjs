// node test/bench/chart.mjs: draws what the last `npm run bench -- --chart` measured once more.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const RESULTS = join(import.meta.dirname, 'results.json');
const CHART = join(import.meta.dirname, 'chart.svg');

const [WIDTH, ROW, BAR, HEAD] = [900, 26, 12, 34];
const PLOT = { from: 430, to: 760 };
const DECADES = [-3, -2, -1, 0, 1, 2, 3];
const ROUND = DECADES.flatMap((decade) => [1, 2, 5].map((digit) => Number(`${digit}e${decade}`)));
const GROUPS = [
  { title: 'as many per second: right of the line is better', has: ({ unit }) => unit === '/s' },
  { title: 'as much time or work: left of the line is better', has: ({ unit }) => unit !== '/s' },
];

/** Neutral in the light; those who prefer the dark get lighter ink. The paper is the page's. */
const STYLE = `
  text { font: 13px system-ui, sans-serif; fill: #24292f }
  .tick { font-size: 11px; fill: #8b949e }
  .title { font-weight: 600 }
  .value { font-variant-numeric: tabular-nums }
  .bar { fill: #2f81f7 }
  .range { stroke: #24292f; stroke-width: 1.5 }
  .grid { stroke: #8b949e; stroke-opacity: 0.35 }
  .one { stroke: #8b949e; stroke-width: 1.5 }
  @media (prefers-color-scheme: dark) {
    text:not(.tick) { fill: #e6edf3 }
    .range { stroke: #e6edf3 }
  }`;

/**
 * A bar for the median of every ratio, from 1 on a logarithmic axis, with a line from the lowest to
 * the highest that was seen.
 * @param {{ measure: string, unit: string, ratio: number, spread?: [number, number] }[]} rows
 * @returns {string} as SVG
 */
export function chartOf(rows) {
  const ranged = rows.filter(({ spread }) => spread);
  const axis = axisOf(ranged.flatMap(({ spread }) => spread));
  const parts = [];
  let y = 0;
  for (const { title, has } of GROUPS) {
    const group = ranged.filter(has);
    if (group.length === 0) continue;
    parts.push(headOf(title, axis, { y, height: HEAD + group.length * ROW }));
    group.forEach((row, i) => parts.push(barOf(row, axis, y + HEAD + i * ROW)));
    y += HEAD + group.length * ROW + ROW / 2;
  }
  return svgOf(parts, y);
}

/** Keeps what was measured beside this file, and draws it. */
export function keep(rows) {
  writeFileSync(RESULTS, `${JSON.stringify(rows, null, 2)}\n`);
  writeFileSync(CHART, chartOf(rows));
}

function svgOf(parts, height) {
  const size = `width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}"`;
  const label = 'Ratios of the benchmark: medians, with the lowest and the highest';
  return `<svg xmlns="http://www.w3.org/2000/svg" ${size} role="img" aria-label="${label}">
<style>${STYLE}
</style>
${parts.join('\n')}
</svg>
`;
}

/** Where ratios lie: on a logarithmic axis that ends at round numbers. */
function axisOf(ratios) {
  const first = Math.max(
    0,
    ROUND.findLastIndex((tick) => tick <= Math.min(0.5, ...ratios)),
  );
  const last = ROUND.findIndex((tick) => tick >= Math.max(2, ...ratios));
  const ticks = ROUND.slice(first, last < 0 ? undefined : last + 1);
  const [from, to] = [ticks[0], ticks.at(-1)].map(Math.log10);
  const perDecade = (PLOT.to - PLOT.from) / (to - from);
  return { ticks, x: (ratio) => round(PLOT.from + (Math.log10(ratio) - from) * perDecade) };
}

function headOf(title, { x, ticks }, { y, height }) {
  const lines = ticks.map((tick) => {
    const name = tick === 1 ? 'one' : 'grid';
    const number = `<text class="tick" x="${x(tick)}" y="${y + 18}" text-anchor="middle">${tick}</text>`;
    const line = lineOf(name, [x(tick), x(tick)], [y + 24, y + height]);
    return `${number}\n${line}`;
  });
  return [`<text class="title" x="0" y="${y + 18}">${escape(title)}</text>`, ...lines].join('\n');
}

function barOf({ measure, ratio, spread: [lowest, highest] }, { x }, y) {
  const [from, to] = [x(1), x(ratio)].sort((a, b) => a - b);
  const middle = y + ROW / 2;
  const text = `${short(ratio)} × (${short(lowest)}–${short(highest)})`;
  return [
    `<text x="0" y="${middle + 4}">${escape(measure)}</text>`,
    `<rect class="bar" x="${from}" y="${middle - BAR / 2}" width="${round(to - from)}" height="${BAR}" rx="2"/>`,
    lineOf('range', [x(lowest), x(highest)], [middle, middle]),
    `<text class="value" x="${WIDTH}" y="${middle + 4}" text-anchor="end">${text}</text>`,
  ].join('\n');
}

function lineOf(name, [x1, x2], [y1, y2]) {
  return `<line class="${name}" x1="${x1}" x2="${x2}" y1="${y1}" y2="${y2}"/>`;
}

/** As the README writes ratios. */
function short(ratio) {
  return ratio >= 10 ? ratio.toFixed(1) : ratio.toFixed(2);
}

function round(value) {
  return Math.round(value * 10) / 10;
}

function escape(text) {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  writeFileSync(CHART, chartOf(JSON.parse(readFileSync(RESULTS, 'utf8'))));
}
