// Callers that go round side by side in this process, each asking again as soon as it is answered. The
// parent asks for one timed slice after the other and gets what a decision took.
import { median } from '../rounds.mjs';

export const CALLERS = 64;

/** Neighbours in time are not neighbours in memory. */
export function scattered(turn, count) {
  return (turn * 7_919) % count;
}

/**
 * `decide` is given the number of the turn. `commandsSent` tells how many commands have gone to Redis
 * so far. `tidyUp` puts away what the decisions of a slice left behind, when the parent asks for it
 * and nothing is measured.
 */
export function serveCallers(decide, { callers = CALLERS, commandsSent, tidyUp } = {}) {
  process.on('message', async ({ milliseconds, tidy }) => {
    process.send(tidy ? { tidied: await tidyUp?.() } : await slice(milliseconds));
  });
  process.send({ ready: true });

  async function slice(milliseconds) {
    const latencies = [];
    const sentBefore = commandsSent?.();
    const cpuBefore = process.cpuUsage();
    const started = performance.now();
    let decisions = 0;
    const call = async () => {
      let now = performance.now();
      while (now - started < milliseconds) {
        const asked = now;
        await decide(decisions++);
        now = performance.now();
        if (callers === 1) latencies.push(now - asked);
      }
    };
    await Promise.all(Array.from({ length: callers }, call));
    const { user, system } = process.cpuUsage(cpuBefore);
    return {
      decisions,
      perSecond: (decisions / (performance.now() - started)) * 1_000,
      nodeCpuUs: (user + system) / decisions,
      commands: commandsSent && (commandsSent() - sentBefore) / decisions,
      latencyUs: callers === 1 ? median(latencies) * 1_000 : undefined,
    };
  }
}
