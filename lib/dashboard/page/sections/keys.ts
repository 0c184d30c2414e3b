import type { TopKey } from '../../../observe/stats-snapshot.js';
import type { DashboardData } from '../../dashboard-data.js';
import { count } from '../format.js';
import { Table } from '../table.js';
import { quietly } from './plans.js';

const SHOWN = 8;

/** A key with both of its counts. */
interface Line {
  readonly key: string;
  readonly policy: string;
  requests: number;
  denials: number;
}

/** Who asks most, and how often they were denied. */
export class KeysSection {
  readonly #table = new Table<Line>(
    'keys',
    [
      { head: 'Key', cell: ({ key }) => key },
      { head: 'Plan', cell: ({ policy }) => policy },
      { head: 'Requests', isNumber: true, cell: ({ requests }) => count(requests) },
      { head: 'Denied', isNumber: true, cell: ({ denials }) => quietly(denials) },
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
    const line = lines.get(key) ?? { key, policy, requests: 0, denials: 0 };
    lines.set(key, line);
    return line;
  };
  for (const one of requests) lineOf(one).requests = one.count;
  for (const one of denials) lineOf(one).denials = one.count;
  return [...lines.values()].slice(0, SHOWN);
}
