import type { CallHandler, ExecutionContext } from '@nestjs/common';
import { Observable } from 'rxjs';
import type { Awaitable } from '../../core/awaitable.js';
import type { Lease } from '../../core/lease.js';
import { HandlerRun } from './handler-run.js';
import { SlotHold } from './slot-hold.js';

/**
 * Runs the handler of a message once its limits allow. The limits are asked when somebody subscribes,
 * and slots that are lent after the subscription has ended go back at once.
 */
export function limitedMessage(
  enforce: () => Awaitable<Lease | void>,
  context: ExecutionContext,
  next: CallHandler,
): Observable<unknown> {
  return new Observable((subscriber) => {
    const goOn = (lease: Lease | void) => {
      lease?.lentTo(`${context.getClass().name}.${context.getHandler().name}`);
      const slots = lease ? new SlotHold(lease) : undefined;
      if (subscriber.closed) return slots?.end();
      const answer = slots
        ? new HandlerRun(context.getHandler(), slots.wait()).handle(next)
        : next.handle();
      subscriber.add(answer.subscribe(subscriber));
    };
    // Through a promise in any case: what `enforce` throws is an error of the message.
    void (async () => enforce())()
      .then(goOn)
      .catch((error: unknown) => subscriber.error(error));
  });
}
