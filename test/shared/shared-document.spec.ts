import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { RateLimitError } from '../../lib/core/errors.js';
import {
  MAX_DOCUMENT_BYTES,
  NewerFormatError,
  SharedDocument,
} from '../../lib/shared/shared-document.js';
import { DistantDocuments, settled } from '../support/distant-documents.js';

type Numbers = readonly number[];

const plus = (one: number) => (numbers: Numbers) => [...numbers, one];

describe('a shared document', () => {
  let store: DistantDocuments;
  let problems: string[];
  let documents: SharedDocument<Numbers>[];

  beforeEach(() => {
    store = new DistantDocuments();
    problems = [];
    documents = [];
  });

  afterEach(() => {
    for (const document of documents) document.stop();
    jest.useRealTimers();
  });

  function create(applied: Numbers[] = []): SharedDocument<Numbers> {
    const document = new SharedDocument<Numbers>(store, {
      name: 'numbers',
      empty: [],
      parse: parseNumbers,
      onChange: (numbers) => void applied.push(numbers),
      onUnreadable: ({ message }) => problems.push(message),
      unavailable: (reason) => new RateLimitError('CHANGE_UNAVAILABLE', reason),
    });
    documents.push(document);
    return document;
  }

  async function start(applied?: Numbers[]): Promise<SharedDocument<Numbers>> {
    const document = create(applied);
    await document.start();
    return document;
  }

  it('is the same in all processes, and in those that start later', async () => {
    const applied: Numbers[] = [];
    const [one, other] = [await start(), await start(applied)];
    expect(await one.change(plus(1))).toBe(true);
    expect(one.value).toEqual([1]);
    await settled();
    expect(applied).toEqual([[1]]);
    await other.change(plus(2));
    for (const document of documents) document.stop();
    expect((await start()).value).toEqual([1, 2]);
  });

  it('loses no change, however many are made at the same time', async () => {
    const all = await Promise.all([start(), start(), start()]);
    await Promise.all(
      all.flatMap((document, i) => [1, 2, 3, 4].map((n) => document.change(plus(10 * i + n)))),
    );
    await settled();
    for (const { value } of all) {
      expect([...value].sort((a, b) => a - b)).toEqual([
        ...[1, 2, 3, 4],
        ...[11, 12, 13, 14],
        ...[21, 22, 23, 24],
      ]);
    }
  });

  it('says that a change changes nothing, and writes nothing then', async () => {
    const document = await start();
    expect(await document.change(() => undefined)).toBe(false);
    expect(store.textOf('numbers')).toBe('');
  });

  it('gives up a change that others overtake again and again', async () => {
    const document = await start();
    let written = 0;
    store.beforeReplacing = () => store.write('numbers', `[${++written}]`);
    await expect(document.change(plus(1))).rejects.toThrow('at the same time');
    expect(written).toBe(20);
  });

  it('stays as it is while the store is away, and the caller learns why', async () => {
    const document = await start();
    await document.change(plus(1));
    store.isAway = true;
    store.publish();
    await settled();
    await expect(document.change(plus(2))).rejects.toMatchObject({
      code: 'CHANGE_UNAVAILABLE',
      message: 'Redis does not answer.',
    });
    expect(document.value).toEqual([1]);
  });

  it('is found a second after the store is back, without a message', async () => {
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick'] });
    const document = await start();
    store.isAway = true;
    store.publish();
    await settled();
    store.isAway = false;
    store.write('numbers', '[7]');
    jest.advanceTimersByTime(1_000);
    await settled();
    expect(document.value).toEqual([7]);
  });

  it('is found a minute later if the message was lost', async () => {
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick'] });
    const document = await start();
    store.write('numbers', '[7]');
    jest.advanceTimersByTime(59_999);
    await settled();
    expect(document.value).toEqual([]);
    jest.advanceTimersByTime(1);
    await settled();
    expect(document.value).toEqual([7]);
  });

  it('is read once for any number of messages', async () => {
    await start();
    const { reads } = store;
    for (let i = 0; i < 1_000; i++) store.publish();
    await settled();
    expect(store.reads - reads).toBe(1);
  });

  it('is written again by those who know it when the store has forgotten it', async () => {
    const document = await start();
    await document.change(plus(1));
    store.forget();
    store.publish();
    await settled();
    expect(store.textOf('numbers')).toBe('[1]');
    expect((await start()).value).toEqual([1]);
    expect(document.value).toEqual([1]);
  });

  it.each(['{', 'null', '"text"', '[1', `[${'1,'.repeat(MAX_DOCUMENT_BYTES / 2)}1]`])(
    'is not replaced by content that cannot be read (%#)',
    async (text) => {
      const document = await start();
      await document.change(plus(1));
      store.write('numbers', text);
      store.publish();
      await settled();
      store.publish();
      await settled();
      expect(document.value).toEqual([1]);
      expect(problems).toHaveLength(1);
      expect(store.textOf('numbers')).toBe(text);
      await document.change(plus(2));
      expect(store.textOf('numbers')).toBe('[1,2]');
    },
  );

  it('is not overwritten when a newer version wrote it', async () => {
    const document = await start();
    store.write('numbers', '"newer"');
    store.publish();
    await settled();
    await expect(document.change(plus(1))).rejects.toMatchObject({
      code: 'CHANGE_UNAVAILABLE',
      message: expect.stringContaining('newer version'),
    });
    expect(store.textOf('numbers')).toBe('"newer"');
    expect(problems).toEqual([expect.stringContaining('newer version')]);
  });

  it('has a size that it may not exceed', async () => {
    const document = await start();
    const many = Array.from({ length: MAX_DOCUMENT_BYTES / 2 }, () => 1);
    await expect(document.change(() => many)).rejects.toMatchObject({ code: 'INVALID_OPTION' });
    expect(document.value).toEqual([]);
    expect(await document.change(() => many.slice(1))).toBe(true);
  });

  it('is amended here at once, and for the others when the store is back', async () => {
    const [one, other] = [await start(), await start()];
    store.isAway = true;
    await one.amend(() => plus(1));
    await one.amend(() => plus(2));
    expect([one.value, other.value]).toEqual([[1, 2], []]);
    store.isAway = false;
    store.publish();
    await settled();
    expect([one.value, other.value]).toEqual([
      [1, 2],
      [1, 2],
    ]);
  });

  it('is not followed any more once stopped', async () => {
    const document = await start();
    document.stop();
    expect(store.watchers).toBe(0);
  });
});

function parseNumbers(text: string): Numbers {
  const value: unknown = JSON.parse(text);
  if (value === 'newer') throw new NewerFormatError();
  if (!Array.isArray(value)) throw new Error('not a list');
  return value as Numbers;
}
