import { lacksSlot } from '../core/lent-slots.js';
import type { Decision } from '../core/limit-store.js';
import {
  CostExceedsBurstError,
  OutboundDeniedError,
  WaitAbortedError,
  WaitTimedOutError,
} from './outbound-errors.js';
import type { OutboundRefusal } from './outbound-listener.js';

/** Why a wait failed. */
export function reasonOfError(error: unknown): OutboundRefusal {
  if (error instanceof WaitTimedOutError) return 'timeout';
  if (error instanceof WaitAbortedError) return 'canceled';
  if (error instanceof OutboundDeniedError) return 'deny_list';
  return error instanceof CostExceedsBurstError ? 'rate' : 'store_error';
}

/** What stood in the way of a call that did not want to wait. */
export function reasonOfDenial(decision: Decision): OutboundRefusal {
  const { failure, gate } = decision;
  if (failure === 'closed') return 'store_error';
  if (gate !== undefined && gate.waitUs > 0) return 'cooldown';
  return lacksSlot(decision) ? 'concurrency' : 'rate';
}
