import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { OutboundFileWatcher } from '../../lib/outbound/outbound-file-watcher.js';
import { until } from '../redis/until.mjs';

const rules = (rate: number) =>
  `{"version":"1.0","default_config":{"requests_per_second":${rate},"burst_capacity":1}}`;

describe('watching a file of rules', () => {
  let folder: string;
  let path: string;
  let watcher: OutboundFileWatcher | undefined;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'outbound-watch-'));
    path = join(folder, 'rates.json');
    writeFileSync(path, rules(1));
  });

  afterEach(() => {
    watcher?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it('tells the options of the rules, and why a file has none', async () => {
    const heard: unknown[] = [];
    const told = (count: number) => until('the listener', () => heard.length >= count, 15_000);
    watcher = new OutboundFileWatcher(
      path,
      {
        onChange: (options) => heard.push(options),
        onError: ({ name, message }) => heard.push(`${name}: ${message}`),
      },
      { quietMs: 20, pollMs: 20 },
    );
    const options = (rate: number) => ({ default: { requestsPerSecond: rate, burstCapacity: 1 } });
    await expect(watcher.start()).resolves.toEqual(options(1));
    writeFileSync(path, rules(2));
    await told(1);
    writeFileSync(path, '{"version":7}');
    await told(2);
    rmSync(path);
    await told(3);
    expect(heard).toEqual([
      options(2),
      `InvalidOutboundFileError: ${path}, line 1, column 12: version must be "1.0", got 7.`,
      `InvalidOutboundFileError: ${path}: cannot be read (ENOENT).`,
    ]);
  });
});
