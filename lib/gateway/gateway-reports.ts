import type { Limit } from '../core/limit-store.js';
import type { GatewayLimiter } from './gateway-limiter.js';
import type { GatewayChange } from './updates/gateway-events.js';

/** Is notified of what a gateway does, to log and to count it. */
export interface GatewayObserver {
  /** A limit is configured: it may be shown before anybody uses it. */
  onLimit(limit: Limit): void;
  /** Limits have changed; `what` is like `server: maxQps 10 → 20`. */
  onChange(what: string): void;
  /** A change is refused, and the limits stay. */
  onRefused(reason: string): void;
  /** A line for the log. */
  log(level: 'info' | 'warn' | 'error', line: string): void;
}

/** Says what happens to the configuration of a gateway. */
export class GatewayReports {
  constructor(private readonly observer: GatewayObserver) {}

  /** Limits that are configured have their metrics from the start. */
  started(limiter: GatewayLimiter): void {
    for (const { limit } of limiter.levelLimits()) this.observer.onLimit(limit);
  }

  /** A file that cannot be used, or a store that does not answer while it is taken over. */
  readonly refused = ({ message }: Error): void => {
    this.observer.onRefused(message);
    this.observer.log('error', `The gateway stays as it is: ${message}`);
  };

  readonly changed = ({ level, id, difference, tooManyConnections }: GatewayChange): void => {
    const name = id === '' ? level : `${level} "${id}"`;
    const what = difference.join(', ');
    this.observer.onChange(`${name}: ${what}`);
    this.observer.log('info', `Limits of the ${name} changed: ${what}.`);
    if (tooManyConnections === 0) return;
    this.observer.log(
      'warn',
      `The ${name} has ${tooManyConnections} connections more than it may have from now on: they ` +
        'stay, and new ones are refused until enough have ended.',
    );
  };
}
