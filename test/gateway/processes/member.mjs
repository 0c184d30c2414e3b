// A gateway in a process of its own: opens and ends connections as it is told by messages, and
// answers to the methods of the limiter. Started by members.ts.
import { setTimeout as pause } from 'node:timers/promises';
import { startGateway } from '../start-gateway.mjs';

const { lib, options } = JSON.parse(process.argv[2]);
const part = (path) => import(new URL(path, lib).href);
const parts = {
  ...(await part('./gateway/create-gateway.js')),
  ...(await part('./redis/create-redis-stores.js')),
  ...(await part('./memory/memory-store.js')),
  ...(await part('./memory/monotonic-clock.js')),
};
const { limiter: gateway } = await startGateway(parts, options);
/** Connections that are open, by the number of the call that opened them. */
const open = new Map();

/** By a clock that all processes of this machine share. */
function nowMs() {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** Comes back again and again, and notes from when to when it was admitted. */
async function comeAndGo({ target, untilMs, holdMs }, visits) {
  while (nowMs() < untilMs) {
    const answer = await gateway.enter(target);
    const fromMs = nowMs();
    if (!answer.allowed) {
      await pause(2);
      continue;
    }
    if (holdMs > 0) await pause(Math.random() * holdMs);
    visits.push({ fromMs, toMs: nowMs(), reason: answer.reason });
    await answer.release();
  }
}

const actions = {
  async open(id, [target]) {
    const answer = await gateway.enter(target);
    if (answer.allowed) open.set(id, answer);
    const { allowed, reason, retryAfterMs, denial } = answer;
    return { id, allowed, reason, retryAfterMs, level: denial?.level ?? null };
  },
  async release(_, [id]) {
    await open.get(id).release();
  },
  /** Several callers at once, for a while; answers all that was admitted. */
  async visit(_, [{ callers, forMs, ...task }]) {
    const visits = [];
    const untilMs = nowMs() + forMs;
    await Promise.all(
      Array.from({ length: callers }, () => comeAndGo({ ...task, untilMs }, visits)),
    );
    return visits;
  },
  limits: (_, [routeId]) => gateway.explain(routeId).values.map(({ value }) => value),
};

process.on('message', async ({ id, method, args }) => {
  try {
    const answer = await (actions[method]?.(id, args) ?? gateway[method](...args));
    process.send({ id, answer });
  } catch (error) {
    process.send({ id, error: `${error.code}: ${error.message}` });
  }
});
process.on('disconnect', () => process.exit());
process.send({ id: 0, answer: 'ready' });
