import type { DenialStats } from '../../../observe/stats-snapshot.js';
import type { DashboardData } from '../../dashboard-data.js';
import { clock, duration } from '../format.js';
import { Table } from '../table.js';

/** Who was denied, by which plan, and for how long. */
export class DenialsSection {
  readonly #table = new Table<DenialStats>(
    'denials',
    [
      { head: 'Time', cell: ({ atMs }) => clock(atMs) },
      { head: 'Plan', cell: ({ policy }) => policy },
      { head: 'Key', cell: ({ key }) => ({ text: key }) },
      { head: 'Wait', isNumber: true, cell: ({ retryAfterMs }) => wait(retryAfterMs) },
    ],
    'Nobody was denied.',
  );

  update({ stats: { lastDenials } }: DashboardData): void {
    this.#table.update(lastDenials);
  }
}

function wait(retryAfterMs: number | null): string {
  return retryAfterMs === null ? 'never' : duration(retryAfterMs);
}
