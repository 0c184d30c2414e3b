// A gateway with every limit that there is, none of which is ever reached.
import { scattered } from './callers.mjs';

const PLENTY = 1_000_000;
const CLIENTS = 10_000;
const ROUTES = 8;
const BACKENDS = 4;

const OF_A_CLIENT = { maxQpsPerClient: PLENTY, maxConnectionsPerClient: PLENTY };
/** Another plan for each of them, as it is where somebody has thought about them. */
const ofALevel = (i) => ({ maxQps: PLENTY + i, maxConnections: PLENTY + i });

/** Server, routes, backends and clients: eight limits for each request. */
export const GATEWAY = {
  server: { rateLimit: { ...ofALevel(0), ...OF_A_CLIENT } },
  backends: Array.from({ length: BACKENDS }, (_, i) => ({
    name: `service-${i}`,
    rateLimit: ofALevel(1 + i),
  })),
  routes: Array.from({ length: ROUTES }, (_, i) => ({
    id: `route-${i}`,
    host: `${i}.example.com`,
    backend: `service-${i % BACKENDS}`,
    rateLimit: ofALevel(1 + BACKENDS + i),
  })),
};

/** Who asks in that turn: another client, mostly on another route. */
export function targetOf(turn) {
  const client = scattered(turn, CLIENTS);
  return {
    routeId: `route-${client % ROUTES}`,
    clientIp: `10.0.${client >> 8}.${client & 255}`,
  };
}

/** Enters, and accepts no answer but the one that is to be measured. */
export async function enter(gateway, turn) {
  const answer = await gateway.enter(targetOf(turn));
  if (answer.reason !== 'ALLOWED') throw new Error(`${answer.reason} instead of ALLOWED`);
  return answer;
}
