import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** What callers saw of one fault. */
export interface FaultRow {
  /** What was done, in a few words: 'killed', 'hangs for 0.5 s'. */
  readonly fault: string;
  /** The longest that any caller waited for a decision, in milliseconds. */
  readonly longestWaitMs: number;
  /** Exceptions that reached callers. */
  readonly errors: number;
  /** From the heal to the last decision that was made without Redis; null if all were made with it. */
  readonly recoveryMs: number | null;
  /** The most that any key got above its capacity and what came back meanwhile. */
  readonly overAdmission: number;
}

/** What a fault happens to; the table has them in the order of table.mjs. */
export type FaultTopic =
  'Redis' | 'network' | 'application' | 'clock' | 'leases' | 'Cluster' | 'Sentinel';

/**
 * Writes rows for the table of the README into the folder that FAULT_REPORT names, and nothing
 * without it. A spec file makes one of these for each of its topics; rows keep their order.
 */
export function faultReport(topic: FaultTopic, firstPosition = 0): (row: FaultRow) => void {
  let position = firstPosition;
  return (row) => {
    const folder = process.env['FAULT_REPORT'];
    const place = position++;
    if (!folder) return;
    mkdirSync(folder, { recursive: true });
    const name = `${topic} ${row.fault}`.replace(/\W+/g, '-').toLowerCase();
    writeFileSync(join(folder, `${name}.json`), JSON.stringify({ topic, position: place, ...row }));
  };
}
