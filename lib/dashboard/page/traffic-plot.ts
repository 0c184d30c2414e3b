import uPlot from 'uplot';
import type { SeriesPoint } from '../../observe/stats-snapshot.js';
import { byId, setText } from './dom.js';
import { clock, rate } from './format.js';

const SHOWN_SECONDS = 120;
const HEIGHT = 200;
const FONT = '11px system-ui, sans-serif';
/** The scale does not shrink below this, or one request would look like a flood. */
const LOWEST_TOP = 4;
/** Half of the width of a time. */
const HALF_LABEL = 26;
const KINDS = ['allowed', 'delayed', 'denied'] as const;

/** Allowed, delayed and denied requests per second, for two minutes. */
export class TrafficPlot {
  readonly #host = byId('plot');
  readonly #readout = byId('readout');
  #plot: uPlot | undefined;
  #points: readonly SeriesPoint[] = [];

  constructor() {
    new ResizeObserver(() => this.#fit()).observe(this.#host);
  }

  update(points: readonly SeriesPoint[]): void {
    this.#points = points;
    if (this.#plot) this.#plot.setData(this.#data());
    else this.restart();
  }

  /** Draws anew, with the colours of now. */
  restart(): void {
    this.#plot?.destroy();
    this.#plot = undefined;
    if (this.#host.clientWidth === 0) return;
    this.#plot = new uPlot(this.#options(), this.#data(), this.#host);
    this.#tell();
  }

  #fit(): void {
    const width = this.#host.clientWidth;
    if (!this.#plot) this.restart();
    else if (width > 0) this.#plot.setSize({ width, height: HEIGHT });
  }

  #data(): uPlot.AlignedData {
    const seconds = this.#points.map(({ atMs }) => atMs / 1_000);
    return [seconds, ...KINDS.map((kind) => this.#points.map((point) => point[kind]))];
  }

  #options(): uPlot.Options {
    const [grid, text] = [colorOf('plot-grid'), colorOf('plot-text')];
    const axis = { stroke: text, font: FONT, grid: { stroke: grid, width: 1 } };
    return {
      width: this.#host.clientWidth,
      height: HEIGHT,
      padding: [8, 4, 0, 0],
      legend: { show: false },
      cursor: { y: false, drag: { x: false, y: false }, points: { size: 7 } },
      scales: { x: { range: () => this.#lastMinutes() }, y: { range: (_, __, max) => scale(max) } },
      axes: [
        { ...axis, ticks: { show: false }, size: 28, space: 90, values: times },
        { ...axis, ticks: { show: false }, size: 44, values: (_, all) => all.map(rate) },
      ],
      series: [{}, ...KINDS.map((kind) => line(kind))],
      hooks: { setCursor: [() => this.#tell()], setData: [() => this.#tell()] },
    };
  }

  #lastMinutes(): [number, number] {
    const last = (this.#points.at(-1)?.atMs ?? Date.now()) / 1_000;
    return [last - SHOWN_SECONDS, last];
  }

  /** The numbers under the cursor, or what is shown. */
  #tell(): void {
    const point = this.#points[this.#plot?.cursor.idx ?? -1];
    const numbers = point && KINDS.map((kind) => `${kind} ${rate(point[kind])}`).join(' · ');
    setText(this.#readout, point ? `${clock(point.atMs)} · ${numbers}` : 'the last two minutes');
  }
}

function line(kind: (typeof KINDS)[number]): uPlot.Series {
  const stroke = colorOf(kind);
  const fill = stroke.replace(/^rgb\((.+)\)$/, 'rgba($1, 0.12)');
  return { stroke, fill, width: 1.75, points: { show: false } };
}

function scale(max: number | null): [number, number] {
  return [0, Math.max(LOWEST_TOP, (max ?? 0) * 1.1)];
}

/** A label that would be cut off at an edge is left out. */
function times(plot: uPlot, all: readonly number[]): string[] {
  const width = plot.bbox.width / devicePixelRatio;
  return all.map((seconds) => {
    const place = plot.valToPos(seconds, 'x');
    const fits = place >= HALF_LABEL && place <= width - HALF_LABEL;
    return fits ? clock(seconds * 1_000) : '';
  });
}

/** A canvas knows no variables of CSS: an element is asked what it would be painted with. */
function colorOf(name: string): string {
  const probe = document.createElement('span');
  probe.className = `color-${name}`;
  document.body.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}
