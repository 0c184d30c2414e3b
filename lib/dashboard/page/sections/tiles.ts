import type { DashboardData } from '../../dashboard-data.js';
import { byId, make, setText } from '../dom.js';
import { count, duration, percent, rate } from '../format.js';

/** What a tile says. */
interface Said {
  readonly value: string;
  readonly unit?: string;
  readonly detail: string;
}

interface Tile {
  readonly name: string;
  /** The line of the plot that it explains. */
  readonly mark?: string;
  readonly tell: (data: DashboardData) => Said;
}

const TILES: readonly Tile[] = [
  { name: 'Requests', tell: requests },
  { name: 'Allowed', mark: 'allowed', tell: (data) => flow(data, 'allowed') },
  { name: 'Delayed', mark: 'delayed', tell: (data) => flow(data, 'delayed') },
  { name: 'Denied', mark: 'denied', tell: denied },
  { name: 'Waiting now', tell: waiting },
  { name: 'Slots held', tell: slots },
];

/** The numbers of this moment. */
export class TilesSection {
  readonly #tiles = TILES.map((tile) => new TileView(tile));

  constructor() {
    byId('tiles').append(...this.#tiles.map(({ element }) => element));
  }

  update(data: DashboardData): void {
    for (const tile of this.#tiles) tile.update(data);
  }
}

class TileView {
  readonly element = make('div', 'tile');
  readonly #value = make('span', 'tile-value', '–');
  readonly #unit = make('span', 'tile-unit');
  readonly #detail = make('span', 'tile-detail');

  constructor(private readonly tile: Tile) {
    const name = make('dt', tile.mark ? `mark color-${tile.mark}` : '');
    name.append(make('span', '', tile.name));
    const numbers = make('dd');
    numbers.append(this.#value, ' ', this.#unit, this.#detail);
    this.element.id = `tile-${tile.name.split(' ')[0]!.toLowerCase()}`;
    this.element.append(name, numbers);
  }

  update(data: DashboardData): void {
    const { value, unit = '', detail } = this.tile.tell(data);
    setText(this.#value, value);
    setText(this.#unit, unit);
    setText(this.#detail, detail);
  }
}

function requests({ series, stats: { totals } }: DashboardData): Said {
  const last = series.at(-1);
  const now = last ? last.allowed + last.delayed + last.denied : 0;
  const all = totals.allowed + totals.delayed + totals.denied;
  return { value: rate(now), unit: '/s', detail: `${count(all)} in all` };
}

function flow({ series, stats: { totals } }: DashboardData, kind: 'allowed' | 'delayed'): Said {
  const all = totals.allowed + totals.delayed + totals.denied;
  const share = all > 0 ? ` · ${percent(totals[kind] / all)}` : '';
  const detail = `${count(totals[kind])} in all${share}`;
  return { value: rate(series.at(-1)?.[kind] ?? 0), unit: '/s', detail };
}

function denied({ series, stats: { totals } }: DashboardData): Said {
  const shadow = totals.shadowDenied > 0 ? ` · ${count(totals.shadowDenied)} in shadow` : '';
  const detail = `${count(totals.denied)} in all${shadow}`;
  return { value: rate(series.at(-1)?.denied ?? 0), unit: '/s', detail };
}

function waiting({ stats: { outbound } }: DashboardData): Said {
  const now = outbound.reduce((sum, rule) => sum + rule.waiting, 0);
  const oldestMs = Math.max(0, ...outbound.map((rule) => rule.oldestWaitMs));
  return {
    value: count(now),
    detail: now > 0 ? `oldest ${duration(oldestMs)}` : 'calls to others',
  };
}

function slots({ stats: { plans, gateway, outbound } }: DashboardData): Said {
  const held = [...plans, ...gateway, ...outbound].reduce((sum, one) => sum + one.leasesHeld, 0);
  return { value: count(held), detail: 'in this process' };
}
