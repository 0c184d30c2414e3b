import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { SharedEntries } from '../../lib/shared/shared-entries.js';
import { DistantDocuments, settled } from '../support/distant-documents.js';

const NOW_MS = 1_800_000_000_000;

describe('shared entries', () => {
  let store: DistantDocuments;
  let problems: string[];
  let changes: (readonly string[])[];
  let started: SharedEntries<number>[];

  beforeEach(() => {
    store = new DistantDocuments();
    [problems, changes, started] = [[], [], []];
    jest.useFakeTimers({ now: NOW_MS, doNotFake: ['setImmediate', 'nextTick'] });
  });

  afterEach(() => {
    for (const entries of started) entries.stop();
    jest.useRealTimers();
  });

  async function start(): Promise<SharedEntries<number>> {
    const entries = new SharedEntries<number>(store, {
      name: 'numbers',
      what: 'numbers',
      check: checkedNumber,
      onChange: (names) => changes.push(names),
      onProblem: (problem) => problems.push(problem),
    });
    started.push(entries);
    await entries.start();
    return entries;
  }

  const stored = () => JSON.parse(store.textOf('numbers')) as unknown;

  it('replace values of the code, remove them, and go back to them', async () => {
    const [one, other] = [await start(), await start()];
    expect(await one.set('a', 1)).toBe(true);
    expect(await one.set('a', 1)).toBe(false);
    expect(await one.set('b', null)).toBe(true);
    await settled();
    expect(['a', 'b', 'c'].map((name) => other.find(name))).toEqual([1, null, undefined]);
    expect(await other.delete('a')).toBe(true);
    expect(await other.delete('a')).toBe(false);
    await settled();
    expect([one.find('a'), one.find('b')]).toEqual([undefined, null]);
    expect(changes.map(String)).toEqual(['a', 'a', 'b', 'b', 'a', 'a']);
  });

  it('know why they were changed, and until when', async () => {
    const [one, other] = [await start(), await start()];
    await one.set('a', 1, { note: 'incident 7', until: NOW_MS + 60_000 });
    await settled();
    const entry = { value: 1, note: 'incident 7', until: NOW_MS + 60_000 };
    expect(other.entries()).toEqual(new Map([['a', entry]]));
    expect(stored()).toEqual({ format: 1, entries: { a: entry } });
  });

  it('end by themselves, and are dropped with the next change', async () => {
    const entries = await start();
    await entries.set('a', 1, { until: NOW_MS + 1_000 });
    await entries.set('b', 2, { until: NOW_MS + 2 ** 40 });
    jest.advanceTimersByTime(999);
    expect(entries.find('a')).toBe(1);
    jest.advanceTimersByTime(1);
    expect([entries.find('a'), entries.find('b')]).toEqual([undefined, 2]);
    expect(changes.at(-1)).toEqual(['a']);
    await entries.delete('b');
    expect(stored()).toEqual({ format: 1, entries: {} });
  });

  it('stay the same objects while others change: plans are compared by identity', async () => {
    const entries = await start();
    await entries.set('a', 1, { note: 'same' });
    const before = entries.entries().get('a');
    await entries.set('b', 2);
    expect(entries.entries().get('a')).toBe(before);
  });

  it('keep what a newer version has written into an entry, and use the rest', async () => {
    const entries = await start();
    const newer = { value: 'a word', by: 'ada' };
    const text = { format: 1, entries: { a: newer, b: { value: 2, by: 'bob' } } };
    store.write('numbers', JSON.stringify(text));
    store.publish();
    await settled();
    expect([entries.find('a'), entries.find('b')]).toEqual([undefined, 2]);
    expect(problems).toEqual(['One of the shared numbers is not used: not a number: a word']);
    await entries.set('c', 3);
    expect(stored()).toMatchObject({ entries: { a: newer, b: { by: 'bob' }, c: { value: 3 } } });
  });

  it.each([
    '[]',
    'null',
    '{"format":1}',
    '{"format":1,"entries":[]}',
    '{"format":1,"entries":{"a":1}}',
    '{"entries":{}}',
  ])('stay as they are when somebody has written %s', async (text) => {
    const entries = await start();
    await entries.set('a', 1);
    store.write('numbers', text);
    store.publish();
    await settled();
    expect(entries.find('a')).toBe(1);
    expect(problems).toHaveLength(1);
  });

  it('are not changed by a process of an older version than they were written by', async () => {
    const entries = await start();
    store.write('numbers', '{"format":2}');
    await expect(entries.set('a', 1)).rejects.toMatchObject({ code: 'CHANGE_UNAVAILABLE' });
    expect(stored()).toEqual({ format: 2 });
  });

  it.each(['soon', 1.5, Number.NaN, null])('do not end at %p', async (until) => {
    const entries = await start();
    const note = { until } as { until: number };
    await expect(entries.set('a', 1, note)).rejects.toMatchObject({ code: 'INVALID_OPTION' });
    store.write('numbers', JSON.stringify({ format: 1, entries: { a: { value: 1, until } } }));
    store.publish();
    await settled();
    expect(entries.find('a')).toBeUndefined();
    expect(jest.getTimerCount()).toBe(1);
  });

  it('may be called as objects call what they inherit', async () => {
    const entries = await start();
    for (const name of ['__proto__', 'constructor', 'toString']) {
      expect(await entries.delete(name)).toBe(false);
      expect(await entries.set(name, 7)).toBe(true);
      expect(entries.find(name)).toBe(7);
      expect(await entries.delete(name)).toBe(true);
      expect(entries.find(name)).toBeUndefined();
    }
  });

  it('are no more than 10 000', async () => {
    const entries = await start();
    const full = Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [i, { value: i }]));
    store.write('numbers', JSON.stringify({ format: 1, entries: full }));
    await expect(entries.set('one more', 1)).rejects.toThrow('At most 10000 numbers');
  });

  it('are not set to what cannot work', async () => {
    const entries = await start();
    await expect(entries.set('a', 'x' as never)).rejects.toThrow('not a number: x');
    await expect(entries.set('a', 1, { note: 'x'.repeat(501) })).rejects.toThrow('500 characters');
    expect(store.textOf('numbers')).toBe('');
  });
});

function checkedNumber(_name: string, value: unknown): number {
  if (typeof value === 'number') return value;
  throw new Error(`not a number: ${String(value)}`);
}
