import type { HealthListener } from '../redis/breaker.js';

/** Tells several listeners. */
export class HealthListeners implements HealthListener {
  constructor(private readonly listeners: readonly HealthListener[]) {}

  onDown(node: string, reason: string): void {
    for (const listener of this.listeners) listener.onDown(node, reason);
  }

  onUp(node: string, downMs: number, decidedWithout: number): void {
    for (const listener of this.listeners) listener.onUp(node, downMs, decidedWithout);
  }

  onUnreadable(plan: string): void {
    for (const listener of this.listeners) listener.onUnreadable(plan);
  }
}
