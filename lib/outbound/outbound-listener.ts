/** Why a call got no permit. */
export type OutboundRefusal =
  'rate' | 'concurrency' | 'cooldown' | 'timeout' | 'canceled' | 'deny_list' | 'store_error';

/** Hears what becomes of calls, by the rule of their domain. */
export interface OutboundListener {
  /** A permit was given. */
  onPermit(rule: string, waitedMs: number): void;
  /** None was. */
  onRefusal(rule: string, reason: OutboundRefusal, waitedMs: number): void;
}
