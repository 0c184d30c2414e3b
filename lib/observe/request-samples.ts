import { DENY_ALL, UNLIMITED } from '../core/plan.js';
import { isOther } from './counters-by-name.js';
import type { Sample } from './sample.js';
import type {
  OutboundStats,
  PolicyStats,
  RateLimitSnapshot,
  StoreStats,
} from './stats-snapshot.js';

/**
 * Requests by what became of them. What can happen to a plan has its series from the start, at 0:
 * `rate()` does not see the first one of a series that begins with it.
 */
export function requestSamples({ plans, gateway, outbound, store }: RateLimitSnapshot): Sample[] {
  return [
    ...[...plans, ...gateway].flatMap((stats) => requestsOf(stats, store)),
    ...outbound.flatMap((stats) => callsOf(stats, store)),
  ];
}

function requestsOf(stats: PolicyStats, store: StoreStats): Sample[] {
  const { policy, allowed, delayed, failedOpen, denied, deniedByZero, failedClosed } = stats;
  const { quota, shadow, shadowDenied } = stats;
  const sample = (result: string, reason: string, value: number, dryRun = false): Sample => ({
    labels: { policy, direction: 'inbound', result, reason, dry_run: String(dryRun) },
    value,
  });
  const why = reasonOf(stats);
  return [
    sample('allowed', '', allowed - delayed - failedOpen),
    sample('delayed', '', delayed),
    sample('denied', why, denied - deniedByZero - failedClosed),
    ...when(quota === DENY_ALL, sample('denied', 'deny_list', deniedByZero)),
    ...when(mayFail(store), sample('allowed', 'store_error', failedOpen)),
    ...when(mayFail(store), sample('denied', 'store_error', failedClosed)),
    ...when(shadow, sample('denied', why, shadowDenied, true)),
  ];
}

function callsOf(stats: OutboundStats, store: StoreStats): Sample[] {
  const { policy, allowed, delayed, denied, maxConcurrent } = stats;
  const sample = (result: string, reason: string, value: number): Sample => ({
    labels: { policy, direction: 'outbound', result, reason, dry_run: 'false' },
    value,
  });
  const refused = (reason: keyof typeof denied) => sample('denied', reason, denied[reason]);
  return [
    sample('allowed', '', allowed),
    sample('delayed', '', delayed),
    refused('rate'),
    refused('timeout'),
    refused('canceled'),
    refused('cooldown'),
    ...when(maxConcurrent !== UNLIMITED, refused('concurrency')),
    ...when(maxConcurrent === DENY_ALL, refused('deny_list')),
    ...when(mayFail(store), refused('store_error')),
  ];
}

/** Many plans said no for many reasons. */
function reasonOf({ policy, kind }: PolicyStats): string {
  if (isOther(policy)) return 'mixed';
  return kind === 'concurrency' ? 'concurrency' : 'rate';
}

function mayFail({ kind }: StoreStats): boolean {
  return kind !== 'memory';
}

/** What is not expected is shown once it has happened. */
function when(isExpected: boolean, sample: Sample): Sample[] {
  return isExpected || sample.value > 0 ? [sample] : [];
}
