import type { OutboundStats } from '../../../observe/stats-snapshot.js';
import type { DomainView } from '../../../outbound/rule-view.js';
import type { DashboardData } from '../../dashboard-data.js';
import type { Cell } from '../cell.js';
import { byId } from '../dom.js';
import { count, duration, rate } from '../format.js';
import type { Column } from '../table.js';
import { Table } from '../table.js';
import { quietly } from './plans.js';

/** A rule, or below it a domain that somebody waits for or that cools down. */
interface Line {
  readonly rule?: OutboundStats;
  readonly domain?: DomainView;
}

const COLUMNS: readonly Column<Line>[] = [
  { head: 'Domain', cell: name },
  { head: 'Limit', cell: limit },
  { head: 'Waiting', isNumber: true, cell: waiting },
  { head: 'Oldest', isNumber: true, cell: oldest },
  { head: 'p50', isNumber: true, cell: (line) => waited(line, 'p50Ms') },
  { head: 'p95', isNumber: true, cell: (line) => waited(line, 'p95Ms') },
  { head: 'p99', isNumber: true, cell: (line) => waited(line, 'p99Ms') },
  { head: 'Under way', isNumber: true, cell: underWay },
  { head: 'Permits', isNumber: true, cell: permits },
  { head: 'Refused', isNumber: true, cell: refused },
  { head: 'Cooldown', cell: cooldown },
];

/** What is called, who waits for it, and what pauses. */
export class OutboundSection {
  readonly #table = new Table('outbound', COLUMNS, 'Nothing was called yet.');

  update({ stats: { outbound } }: DashboardData): void {
    byId('outbound-card').hidden = outbound.length === 0;
    this.#table.update(outbound.flatMap(linesOf));
  }
}

/** A domain that is all of its rule needs no line of its own. */
function linesOf(rule: OutboundStats): Line[] {
  const others = rule.domains.filter(({ domain }) => domain !== rule.policy);
  return [{ rule }, ...others.map((domain) => ({ domain }))];
}

function name({ rule, domain }: Line): Cell {
  return rule ? { text: rule.policy } : { text: domain!.domain, isIndented: true };
}

function limit({ rule }: Line): Cell {
  if (!rule) return {};
  const { requestsPerSecond, burstCapacity } = rule;
  // Known only while one of its domains is.
  if (requestsPerSecond === 0) return { text: '–', tone: 'plain' };
  return { text: `${rate(requestsPerSecond)}/s`, detail: `burst ${count(burstCapacity)}` };
}

function waiting({ rule, domain }: Line): Cell {
  return quietly((rule ?? domain!).waiting);
}

function oldest({ rule, domain }: Line): Cell {
  const { waiting: some, oldestWaitMs } = rule ?? domain!;
  return some > 0 ? { text: duration(oldestWaitMs) } : { text: '–', tone: 'plain' };
}

function waited({ rule }: Line, which: 'p50Ms' | 'p95Ms' | 'p99Ms'): Cell {
  if (!rule) return {};
  const { waits } = rule;
  return waits.count > 0 ? { text: duration(waits[which]) } : { text: '–', tone: 'plain' };
}

function underWay({ rule }: Line): Cell {
  if (!rule) return {};
  const { maxConcurrent, leasesHeld } = rule;
  if (maxConcurrent < 0) return { text: '–', tone: 'plain' };
  return { text: count(leasesHeld), detail: `of ${count(maxConcurrent)}` };
}

function permits({ rule }: Line): Cell {
  return rule ? quietly(rule.allowed + rule.delayed) : {};
}

function refused({ rule }: Line): Cell {
  if (!rule) return {};
  const all = Object.values(rule.denied).reduce((sum, some) => sum + some, 0);
  return all > 0 ? { text: count(all), tone: 'bad' } : quietly(0);
}

function cooldown({ rule, domain }: Line): Cell {
  const state = rule ? rule.cooldown.state : domain!.state;
  const leftMs = rule ? rule.cooldown.remainingMs : domain!.cooldownMs;
  if (state === 'cooling') return { chip: { text: `${duration(leftMs)} left`, tone: 'warning' } };
  if (state === 'trying') return { chip: { text: 'trying', tone: 'warning' } };
  const opened = rule?.cooldown.opened ?? 0;
  return opened > 0
    ? { text: `${count(opened)} so far`, tone: 'plain' }
    : { text: '–', tone: 'plain' };
}
