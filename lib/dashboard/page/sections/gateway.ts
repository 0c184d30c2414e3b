import type { PolicyStats } from '../../../observe/stats-snapshot.js';
import type { DashboardData } from '../../dashboard-data.js';
import type { Cell } from '../cell.js';
import { byId } from '../dom.js';
import { count, percent } from '../format.js';
import type { Column } from '../table.js';
import { Table } from '../table.js';
import { quietly } from './plans.js';

/** One level: its requests, its connections, or both. */
interface Line {
  readonly level: string;
  readonly id: string;
  qps?: PolicyStats;
  connections?: PolicyStats;
}

/** As the levels are called in the stats: `server-qps`, `backend-connections:api`. */
const NAME = /^(server|route|backend|client)-(qps|connections)(?::([\s\S]*))?$/;
const ORDER = ['server', 'route', 'backend', 'client', 'other'];
const NONE: Cell = { text: '–', tone: 'plain' };

const COLUMNS: readonly Column<Line>[] = [
  {
    head: 'Level',
    cell: ({ level, id }) => ({
      text: id === '' ? nameOf(level) : id,
      detail: id === '' ? '' : level,
    }),
  },
  { head: 'Requests', cell: ({ qps }) => (qps ? share(qps, `of ${count(qps.quota)}/s`) : NONE) },
  { head: 'Connections', cell: ({ connections }) => (connections ? open(connections) : NONE) },
  { head: 'Allowed', isNumber: true, cell: (line) => quietly(most(line, 'allowed')) },
  { head: 'Denied', isNumber: true, cell: denials },
];

/** What the levels of the gateway let pass, and how many connections they hold. */
export class GatewaySection {
  readonly #table = new Table('gateway', COLUMNS, 'Nothing has passed yet.');

  update({ stats: { gateway } }: DashboardData): void {
    byId('gateway-card').hidden = gateway.length === 0;
    this.#table.update(linesOf(gateway));
  }
}

function linesOf(policies: readonly PolicyStats[]): Line[] {
  const lines = new Map<string, Line>();
  for (const policy of policies) {
    const [, level = 'other', resource = 'qps', id = ''] = NAME.exec(policy.policy) ?? [];
    const key = `${level}:${id}`;
    const line = lines.get(key) ?? { level, id };
    line[resource as 'qps' | 'connections'] = policy;
    lines.set(key, line);
  }
  return [...lines.values()].sort((a, b) => ORDER.indexOf(a.level) - ORDER.indexOf(b.level));
}

function nameOf(level: string): string {
  return level === 'client' ? 'each client' : level === 'other' ? 'all others' : level;
}

function share({ quota, peakUse }: PolicyStats, detail: string): Cell {
  if (quota < 0) return NONE;
  if (quota === 0) return { text: 'denies all', tone: 'bad' };
  return { share: peakUse, text: percent(peakUse), detail };
}

function open(connections: PolicyStats): Cell {
  const { quota, leasesHeld, peakUse } = connections;
  if (quota <= 0) return share(connections, '');
  return { share: peakUse, text: count(leasesHeld), detail: `of ${count(quota)}` };
}

/** One request passes both, so that the sum would count it twice. */
function most({ qps, connections }: Line, field: 'allowed'): number {
  return Math.max(qps?.[field] ?? 0, connections?.[field] ?? 0);
}

function denials({ qps, connections }: Line): Cell {
  const all = (qps?.denied ?? 0) + (connections?.denied ?? 0);
  return all > 0 ? { text: count(all), tone: 'bad' } : quietly(0);
}
