import type { Inquiry, LimitStore } from '../../core/limit-store.js';
import type { Prepared } from './gateway-state.js';
import type { Level, Resource } from './level-limit.js';
import { limitFor, uncapped } from './level-limit.js';

/** What is used of a level at the moment; undefined where nothing is limited, and so not counted. */
export interface LevelUse {
  /** Requests in the last second. */
  readonly qps: number | undefined;
  /** More than the limit after that was lowered, until enough have ended. */
  readonly connections: number | undefined;
}

/** Asks the store what is used of a level; `clientKey` is the client where the level is `client`. */
export async function useOf(
  store: LimitStore,
  prepared: Prepared,
  level: Level,
  clientKey: string,
): Promise<LevelUse> {
  const used = async (resource: Resource) => {
    const limit = prepared[resource].find((one) => one.level === level);
    if (!limit) return undefined;
    const limits = [limitFor(uncapped(limit), clientKey)];
    const inquiry: Inquiry = { limits, mode: 'peek', maxWaitUs: 0, leaseId: '' };
    const [said] = (await store.decide(inquiry)).limits;
    return said ? said.limit.plan.quota - said.remaining : 0;
  };
  return { qps: await used('qps'), connections: await used('connections') };
}
