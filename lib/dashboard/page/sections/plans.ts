import type { PolicyStats } from '../../../observe/stats-snapshot.js';
import type { DashboardData } from '../../dashboard-data.js';
import type { Cell } from '../cell.js';
import { count, duration, estimate, percent, quota } from '../format.js';
import type { Column } from '../table.js';
import { Table } from '../table.js';

/** Stands for the plans that have no row of their own. */
const OTHERS = '_other';

const COLUMNS: readonly Column<PolicyStats>[] = [
  { head: 'Plan', cell: name },
  { head: 'Limit', cell: quota },
  { head: 'Use', cell: use },
  { head: 'Allowed', isNumber: true, cell: ({ allowed }) => count(allowed) },
  { head: 'Denied', isNumber: true, cell: denied },
  { head: 'Near limit', isNumber: true, cell: ({ nearLimit }) => quietly(nearLimit) },
  { head: 'Delayed', isNumber: true, cell: delayed },
  { head: 'Held', isNumber: true, cell: held },
  { head: 'Top key', cell: topKey },
];

/** Every plan: what it allows, how much of that is used, and what became of its requests. */
export class PlansSection {
  readonly #table = new Table('plans', COLUMNS, 'No plan is written, and none was used.');

  update({ stats: { plans } }: DashboardData): void {
    this.#table.update(plans);
  }
}

function name({ policy, shadow }: PolicyStats): Cell {
  if (policy === OTHERS) return { text: policy, detail: 'all other names' };
  return { text: policy, chip: shadow ? { text: 'shadow', tone: 'plain' } : undefined };
}

/** How much of a limit is used: the same for plans and for levels of the gateway. */
export function use({ quota: all, peakUse }: PolicyStats): Cell {
  if (all <= 0) return { text: '–', tone: 'plain' };
  return { share: peakUse, text: percent(peakUse) };
}

/** Denials, and those that were only reported. */
export function denied({ shadow, denied: real, shadowDenied }: PolicyStats): Cell {
  if (shadow) return { text: count(shadowDenied), detail: 'in shadow', tone: 'plain' };
  return { text: count(real), tone: real > 0 ? 'bad' : 'plain' };
}

function delayed({ delayed: booked, waits }: PolicyStats): Cell {
  if (booked === 0) return quietly(0);
  return { text: count(booked), detail: `p95 ${duration(waits.p95Ms)}` };
}

function held({ kind, leasesHeld }: PolicyStats): Cell {
  return kind === 'concurrency' ? { text: count(leasesHeld) } : { text: '–', tone: 'plain' };
}

/** Who asks most of this plan, and how often. */
function topKey({ topKeys: { requests } }: PolicyStats): Cell {
  const [first] = requests;
  if (!first) return { text: '–', tone: 'plain' };
  return { text: first.key, detail: estimate(first) };
}

/** Nothing is said quietly. */
export function quietly(value: number): Cell {
  return value === 0 ? { text: '0', tone: 'plain' } : { text: count(value) };
}
