import type { OperationStats, ServerStats, StoreStats } from '../../../observe/stats-snapshot.js';
import type { DashboardData } from '../../dashboard-data.js';
import type { Cell } from '../cell.js';
import { byId, setText } from '../dom.js';
import { clock, count, duration } from '../format.js';
import { Table } from '../table.js';

const KINDS = { memory: 'embedded, in this process', redis: 'Redis', custom: 'your own' };
const MEANWHILE = {
  open: 'Meanwhile requests pass without being limited (open).',
  closed: 'Meanwhile requests are answered with 503 (closed).',
  local: 'Meanwhile this process limits alone (local).',
};

/** How the store is: since when it fails, what happens meanwhile, and each server's breaker. */
export class StoreSection {
  readonly #servers = new Table<ServerStats>(
    'servers',
    [
      { head: 'Server', cell: ({ server }) => server || 'the only one' },
      { head: 'Breaker', cell: breaker },
      { head: 'Since', cell: ({ sinceAtMs }) => clock(sinceAtMs) },
      { head: 'Outages', isNumber: true, cell: ({ outages }) => count(outages) },
      { head: 'Reason', cell: ({ reason }) => ({ detail: reason }) },
    ],
    '',
  );
  readonly #operations = new Table<OperationStats>(
    'operations',
    [
      { head: 'Round trips', cell: operation },
      { head: 'Count', isNumber: true, cell: ({ times }) => count(times.count) },
      { head: 'p50', isNumber: true, cell: ({ times }) => duration(times.p50Ms) },
      { head: 'p95', isNumber: true, cell: ({ times }) => duration(times.p95Ms) },
      { head: 'p99', isNumber: true, cell: ({ times }) => duration(times.p99Ms) },
    ],
    '',
  );

  update({ stats: { store, totals, takenAtMs } }: DashboardData): void {
    setText(byId('store-kind'), KINDS[store.kind]);
    const sentence = byId('store-sentence');
    sentence.className = store.status === 'up' ? 'quiet' : 'tone-bad';
    setText(sentence, [health(store, takenAtMs), size(store), without(totals)].join(' ').trim());
    this.#servers.hidden = store.servers.length === 0;
    this.#servers.update(store.servers);
    this.#operations.hidden = store.operations.length === 0;
    this.#operations.update(store.operations);
  }
}

function health({ status, failingSinceAtMs, onStoreFailure }: StoreStats, nowMs: number): string {
  if (status === 'up' || failingSinceAtMs === null) return 'Healthy.';
  const lasting = duration(Math.max(0, nowMs - failingSinceAtMs));
  return `Failing since ${clock(failingSinceAtMs)} (${lasting}). ${MEANWHILE[onStoreFailure]}`;
}

function size({ keys, evictions, unreadable }: StoreStats): string {
  const parts: string[] = [];
  if (keys !== null) parts.push(`${count(keys)} limits remembered.`);
  if (evictions) parts.push(`${count(evictions)} forgotten for lack of room.`);
  if (unreadable > 0) parts.push(`${count(unreadable)} keys could not be read.`);
  return parts.join(' ');
}

function without(totals: DashboardData['stats']['totals']): string {
  const { failedOpen, failedClosed, failedLocal } = totals;
  const all = failedOpen + failedClosed + failedLocal;
  return all === 0 ? '' : `${count(all)} requests were decided without the store.`;
}

function breaker({ breaker: state }: ServerStats): Cell {
  return { chip: { text: state, tone: state === 'open' ? 'bad' : 'good' } };
}

function operation({ operation: name, error }: OperationStats): Cell {
  return error === '' ? { text: name } : { text: name, detail: error, tone: 'bad' };
}
