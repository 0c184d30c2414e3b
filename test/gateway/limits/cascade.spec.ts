import { describe, expect, it } from '@jest/globals';
import { cascade } from '../../../lib/gateway/limits/cascade.js';
import { NO_LIMITS } from '../../../lib/gateway/config/gateway-config.js';

/** No limit, refuse all, and two limits that can be told apart. */
const VALUES = [-1, 0, 5, 7] as const;

/** What each of the three levels says about one field: route, backend, server. */
type Levels = readonly [number, number, number];
const LEVELS: readonly Levels[] = VALUES.flatMap((route) =>
  VALUES.flatMap((backend) => VALUES.map((server): Levels => [route, backend, server])),
);

/** As the rule is written down: each level has a say only while all above it are −1. */
function expected([route, backend, server]: Levels): { value: number; source: string } {
  const written = `Route(${route}) Backend(${backend}) Server(${server})`;
  const [, level, value] = /(Route|Backend|Server)\((\d+)\)/.exec(written) ?? [];
  return { value: Number(value ?? -1), source: level?.toLowerCase() ?? 'none' };
}

/** One level with these limits of clients, and others that must not matter. */
const level = (maxQpsPerClient: number, maxConnectionsPerClient: number) => ({
  ...{ maxQps: 1, maxConnections: 2 },
  ...{ maxQpsPerClient, maxConnectionsPerClient },
});

describe('what clients may do', () => {
  it('follows the closest level that says something, in all 4096 combinations', () => {
    const wrong: unknown[] = [];
    let looked = 0;
    for (const qps of LEVELS) {
      for (const connections of LEVELS) {
        const [route, backend, server] = ([0, 1, 2] as const).map((index) =>
          level(qps[index], connections[index]),
        );
        const found = cascade(route!, backend!, server!);
        const right = { maxQps: expected(qps), maxConnections: expected(connections) };
        if (JSON.stringify(found) !== JSON.stringify(right))
          wrong.push({ qps, connections, found });
        looked++;
      }
    }
    expect({ looked, wrong }).toEqual({ looked: 4_096, wrong: [] });
  });

  it.each([
    { levels: [-1, -1, -1], value: -1, source: 'none' },
    { levels: [-1, -1, 5], value: 5, source: 'server' },
    { levels: [-1, 0, 5], value: 0, source: 'backend' },
    { levels: [7, 0, 5], value: 7, source: 'route' },
    { levels: [0, 7, 5], value: 0, source: 'route' },
  ] as const)('is $value of the $source for $levels', ({ levels, value, source }) => {
    const [route, backend, server] = levels.map((qps) => level(qps, -1));
    expect(cascade(route!, backend!, server!)).toEqual({
      maxQps: { value, source },
      maxConnections: { value: -1, source: 'none' },
    });
  });

  it('is anything where nobody says a word', () => {
    const none = { value: -1, source: 'none' };
    expect(cascade(NO_LIMITS, NO_LIMITS, NO_LIMITS)).toEqual({
      maxQps: none,
      maxConnections: none,
    });
  });
});
