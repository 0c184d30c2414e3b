import type { TopKey } from '../../../observe/stats-snapshot.js';
import type { DashboardData } from '../../dashboard-data.js';
import type { Cell } from '../cell.js';
import { estimate } from '../format.js';
import { Table } from '../table.js';

const SHOWN = 8;

/** A key under one plan, with both of its counts. */
interface Line {
  readonly key: string;
  readonly policy: string;
  requests?: TopKey;
  denials?: TopKey;
}

/** Who asks most, and how often they were denied. */
export class KeysSection {
  readonly #table = new Table<Line>(
    'keys',
    [
      { head: 'Key', cell: ({ key }) => key },
      { head: 'Plan', cell: ({ policy }) => policy },
      { head: 'Requests', isNumber: true, cell: ({ requests }) => counted(requests) },
      { head: 'Denied', isNumber: true, cell: ({ denials }) => counted(denials) },
    ],
    'Nobody has asked.',
  );

  update({ stats: { topKeys } }: DashboardData): void {
    this.#table.update(linesOf(topKeys.requests, topKeys.denials));
  }
}

/** The most frequent; a key that is denied often without being among them comes after. */
function linesOf(requests: readonly TopKey[], denials: readonly TopKey[]): Line[] {
  const lines = new Map<string, Line>();
  const lineOf = ({ key, policy }: TopKey) => {
    const id = JSON.stringify([policy, key]);
    const line = lines.get(id) ?? { key, policy };
    lines.set(id, line);
    return line;
  };
  for (const one of requests) lineOf(one).requests = one;
  for (const one of denials) lineOf(one).denials = one;
  return [...lines.values()].slice(0, SHOWN);
}

/** Only the first of each kind are told: for any other key that is no zero. */
function counted(known: TopKey | undefined): Cell {
  return known ? { text: estimate(known) } : { text: '–', tone: 'plain' };
}
