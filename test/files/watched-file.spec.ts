import * as fs from 'node:fs';
import {
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { WatchedFile as Watched, WatchedFileOptions } from '../../lib/files/watched-file.js';
import { readTextFile } from '../../lib/files/text-file.js';
import { until } from '../redis/until.mjs';

/** Whether the system refuses to watch a folder, as it does when there are too many. */
let watchingFails: 'no' | 'at once' | 'later' = 'no';
const watch = ((...parameters: Parameters<typeof fs.watch>) => {
  if (watchingFails === 'at once') throw new Error('ENOSPC');
  const watcher = fs.watch(...parameters);
  if (watchingFails === 'later') {
    watcher.close();
    setImmediate(() => watcher.emit('error', new Error('EMFILE')));
  }
  return watcher;
}) as typeof fs.watch;
jest.unstable_mockModule('node:fs', () => ({ ...fs, watch }));
const { WatchedFile } = await import('../../lib/files/watched-file.js');

jest.setTimeout(40_000);

/** What happens between reading a file and having read it. */
let whileReading = () => {};

/** Files with a number in them. */
const FORMAT = {
  read: async (path: string) => {
    const text = await readTextFile(path, 'Shorten it.');
    whileReading();
    return text;
  },
  parse: (text: string, path: string) => {
    if (!/^\d+\n$/.test(text)) throw new Error(`${path}: ${text} is no number`);
    return { number: Number(text) };
  },
};
const file = (number: number) => `${number}\n`;
const NO_POLLING = { quietMs: 20, pollMs: 600_000 };
const QUICK_POLLING = { quietMs: 20, pollMs: 20 };

describe('watching a file', () => {
  let folder: string;
  let path: string;
  let watcher: Watched<{ number: number }> | undefined;
  /** What the listener heard: numbers and errors. */
  let heard: (number | string)[];
  let refused: number | undefined;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'watched-file-'));
    path = join(folder, 'number.txt');
    writeFileSync(path, file(1));
    heard = [];
    refused = undefined;
    watchingFails = 'no';
  });

  afterEach(() => {
    watcher?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  function start(options: WatchedFileOptions, watched = path) {
    const listener = {
      onChange: ({ number }: { number: number }) => {
        if (number === refused) throw new Error('refused by the listener');
        heard.push(number);
      },
      onError: (error: Error) => heard.push(error.message),
    };
    watcher = new WatchedFile(watched, FORMAT, listener, options);
    return watcher.start();
  }

  const hearing = (expected: (number | string)[]) =>
    until('the listener', () => heard.length >= expected.length, 15_000)
      .catch(() => undefined)
      .then(() => expect(heard).toEqual(expected));

  /** Long enough for a look at the file, had there been a reason. */
  const stillHearing = async (expected: (number | string)[]) => {
    await sleep(100);
    expect(heard).toEqual(expected);
  };

  function replace(text: string): void {
    writeFileSync(`${path}.new`, text);
    renameSync(`${path}.new`, path);
  }

  it('starts with what it says', async () => {
    await expect(start(NO_POLLING)).resolves.toEqual({ number: 1 });
    await stillHearing([]);
  });

  it('tells each change of one that is written to', async () => {
    await start(NO_POLLING);
    writeFileSync(path, file(2));
    await hearing([2]);
    writeFileSync(path, file(3));
    await hearing([2, 3]);
  });

  it('tells each change of one that is replaced', async () => {
    await start(NO_POLLING);
    replace(file(2));
    await hearing([2]);
    replace(file(3));
    await hearing([2, 3]);
  });

  it('tells each swap of the links that Kubernetes makes', async () => {
    const mount = (version: number) => {
      mkdirSync(join(folder, `..v${version}`));
      writeFileSync(join(folder, `..v${version}`, 'number.txt'), file(version));
      symlinkSync(`..v${version}`, join(folder, '..data_tmp'));
      renameSync(join(folder, '..data_tmp'), join(folder, '..data'));
      rmSync(join(folder, `..v${version - 1}`), { recursive: true, force: true });
    };
    rmSync(path);
    mount(1);
    symlinkSync(join('..data', 'number.txt'), path);
    await start(NO_POLLING);
    mount(2);
    await hearing([2]);
    mount(3);
    await hearing([2, 3]);
  });

  it('tells a change behind a link', async () => {
    const elsewhere = mkdtempSync(join(tmpdir(), 'watched-elsewhere-'));
    const target = join(elsewhere, 'target.json');
    writeFileSync(target, file(1));
    rmSync(path);
    symlinkSync(target, path);
    await start(QUICK_POLLING);
    writeFileSync(target, file(22));
    await hearing([22]);
    writeFileSync(target, file(333));
    await hearing([22, 333]);
    rmSync(elsewhere, { recursive: true });
  });

  it('tells many writes in a row as one', async () => {
    await start({ ...NO_POLLING, quietMs: 500 });
    for (let number = 2; number <= 20; number++) {
      writeFileSync(path, file(number));
      await sleep(2);
    }
    await hearing([20]);
    await stillHearing([20]);
  });

  /** What somebody types who makes 6000 of 5000, each a number by itself. */
  const PIECES = ['6\n', '600\n', '6000\n'];

  it('takes over one that is written in pieces when it is whole', async () => {
    writeFileSync(path, file(5000));
    await start({ pollMs: 600_000 });
    for (const piece of PIECES) {
      writeFileSync(path, piece);
      await sleep(100);
    }
    await hearing([6000]);
    await stillHearing([6000]);
  });

  it('takes over one that is written in pieces where no write is told', async () => {
    const elsewhere = mkdtempSync(join(tmpdir(), 'watched-elsewhere-'));
    const target = join(elsewhere, 'target.json');
    writeFileSync(target, file(5000));
    rmSync(path);
    symlinkSync(target, path);
    await start({ pollMs: 20 });
    for (const piece of PIECES) {
      writeFileSync(target, piece);
      await sleep(100);
    }
    await hearing([6000]);
    await stillHearing([6000]);
    rmSync(elsewhere, { recursive: true });
  });

  it('takes nothing that was replaced while it was read', async () => {
    await start(NO_POLLING);
    whileReading = () => {
      whileReading = () => undefined;
      writeFileSync(path, file(20_000));
    };
    writeFileSync(path, file(3));
    await hearing([20_000]);
    await stillHearing([20_000]);
  });

  it('reads one that never is quiet when that has lasted too long', async () => {
    await start({ ...NO_POLLING, quietMs: 2_000, maxUnrestMs: 100 });
    let number = 1;
    const writing = setInterval(() => writeFileSync(path, file(++number)), 5);
    // It may read between the truncation and the text, and say so.
    const isRead = () => heard.some((one) => Number(one) > 1);
    await until('a number', isRead, 15_000).finally(() => clearInterval(writing));
    expect(number).toBeGreaterThan(1);
  });

  it('does not speak of the same content again', async () => {
    await start(NO_POLLING);
    writeFileSync(path, file(1));
    replace(file(1));
    utimesSync(path, 1, 1);
    await stillHearing([]);
  });

  it('tells a bad content once, and a good one unless it is in force', async () => {
    await start(NO_POLLING);
    const problem = `${path}: {} is no number`;
    writeFileSync(path, '{}');
    await hearing([problem]);
    replace('{}');
    await stillHearing([problem]);
    replace(file(2));
    await hearing([problem, 2]);
    replace('{}');
    await hearing([problem, 2, problem]);
    replace(file(2));
    await stillHearing([problem, 2, problem]);
    replace(file(3));
    await hearing([problem, 2, problem, 3]);
  });

  it('tells once that it is gone, and hears of it when it comes back', async () => {
    await start(QUICK_POLLING);
    rmSync(folder, { recursive: true });
    const problem = 'cannot be read (ENOENT).';
    await hearing([problem]);
    await stillHearing([problem]);
    mkdirSync(folder);
    writeFileSync(path, file(2));
    await hearing([problem, 2]);
  });

  it('keeps the content in force when the listener refuses', async () => {
    await start(NO_POLLING);
    refused = 2;
    writeFileSync(path, file(2));
    await hearing(['refused by the listener']);
    replace(file(1));
    await stillHearing(['refused by the listener']);
    replace(file(3));
    await hearing(['refused by the listener', 3]);
  });

  it.each(['at once', 'later'] as const)(
    'looks by itself where watching fails %s',
    async (when) => {
      watchingFails = when;
      await start(QUICK_POLLING);
      await sleep(30);
      writeFileSync(path, file(22));
      await hearing([22]);
    },
  );

  it('is over once it is closed', async () => {
    await start(QUICK_POLLING);
    writeFileSync(path, file(2));
    watcher!.close();
    await stillHearing([]);
    writeFileSync(path, file(3));
    await stillHearing([]);
    watcher!.close();
  });

  it('is over even for a look that is under way', async () => {
    for (let round = 0; round < 40; round++) {
      await start({ ...NO_POLLING, quietMs: 1 });
      writeFileSync(path, file(round + 2));
      const heardBefore = heard.length;
      await sleep(round % 4);
      watcher!.close();
      const heardAtClose = heard.length;
      await sleep(5);
      expect(heard).toHaveLength(heardAtClose);
      expect(heardAtClose - heardBefore).toBeLessThanOrEqual(1);
    }
  });

  it('does not begin with a file that cannot be used', async () => {
    writeFileSync(path, '{}');
    await expect(start(QUICK_POLLING)).rejects.toThrow('{} is no number');
    writeFileSync(path, file(2));
    await stillHearing([]);
    await expect(start(NO_POLLING, join(folder, 'missing.json'))).rejects.toThrow('ENOENT');
    await expect(start(NO_POLLING, join(folder, 'no', 'folder.json'))).rejects.toThrow('ENOENT');
  });

  it('keeps no process alive', async () => {
    const link = join(folder, 'link.json');
    symlinkSync('number.txt', link);
    const holding = () =>
      process.getActiveResourcesInfo().filter((kind) => /^(FSEvent|Stat|Timeout)/.test(kind));
    const before = holding();
    await start({ quietMs: 60_000, pollMs: 60_000 }, link);
    writeFileSync(link, file(2));
    await sleep(20);
    expect(holding()).toEqual(before);
  });
});
