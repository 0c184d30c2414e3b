import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import * as yaml from 'yaml';
import { RateLimitError } from '../../../lib/core/errors.js';
import { checkGatewayConfig } from '../../../lib/gateway/config/check-gateway-config.js';
import type { GatewayConfig } from '../../../lib/gateway/config/gateway-config.js';
import { parseGatewayFile } from '../../../lib/gateway/config/gateway-file.js';
import { breakAt, placesIn } from '../../support/broken-value.js';

const rateLimit = { maxQps: 5, maxConnections: 5, maxQpsPerClient: 5, maxConnectionsPerClient: 5 };
const CONFIG: GatewayConfig = {
  connectionLeaseMs: 1_000,
  server: { rateLimit },
  backends: [{ name: 'api', rateLimit }, { name: 'web' }],
  routes: [
    { id: 'one', host: 'a.com', path: '/x', backend: 'api', rateLimit },
    { host: 'b.com', backend: 'web', rateLimit: { maxQps: 1 } },
  ],
};

function errorOf(act: () => unknown): RateLimitError {
  try {
    act();
  } catch (error) {
    expect(error).toBeInstanceOf(RateLimitError);
    return error as RateLimitError;
  }
  throw new Error('nothing was thrown');
}

/** What no field of a configuration may be. */
const nonsense = fc.constantFrom<unknown>(null, true, -2, 0.5, '', '\n', Number.NaN, Infinity);

describe('a value that is broken', () => {
  it('is named by its path', () => {
    fc.assert(
      fc.property(fc.constantFrom(...placesIn(CONFIG)), nonsense, (path, value) => {
        const config = breakAt(CONFIG, path, value) as GatewayConfig;
        expect(errorOf(() => checkGatewayConfig(config)).path).toEqual(path);
      }),
      { numRuns: 300 },
    );
  });

  it('is named by its path and its line in a file', () => {
    const named = fc.constantFrom('gateway.json', 'gateway.yml');
    const places = fc.constantFrom(...placesIn(CONFIG).filter(({ length }) => length > 0));
    fc.assert(
      fc.property(places, named, (path, name) => {
        const config = breakAt(CONFIG, path, '\u2028broken');
        const text =
          name === 'gateway.json' ? JSON.stringify(config, null, 2) : yaml.stringify(config);
        const error = errorOf(() => parseGatewayFile(text, name, yaml));
        const line = text.split(/\n/).findIndex((one) => one.includes('broken')) + 1;
        expect(error.path).toEqual(path);
        expect(error.message).toContain(`${name}, line ${line}, column `);
      }),
      { numRuns: 300 },
    );
  });

  it('is named by its path when it is a field that is not known', () => {
    const objects = placesIn(CONFIG).filter((path) => isObject(valueAt(CONFIG, path)));
    fc.assert(
      fc.property(fc.constantFrom(...objects), (path) => {
        const config = breakAt(CONFIG, [...path, 'nonsense'], 1) as GatewayConfig;
        expect(errorOf(() => checkGatewayConfig(config)).path).toEqual([...path, 'nonsense']);
      }),
    );
  });
});

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function valueAt(value: unknown, path: readonly (string | number)[]): unknown {
  return path.reduce((one, step) => (one as Record<string | number, unknown>)[step], value);
}
