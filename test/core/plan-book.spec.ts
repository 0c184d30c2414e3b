import { describe, expect, it } from '@jest/globals';
import type { Awaitable } from '../../lib/core/awaitable.js';
import { InMemoryPlanRegistry } from '../../lib/core/in-memory-plan-registry.js';
import type { PlanDefinition } from '../../lib/core/plan.js';
import { PlanBook } from '../../lib/core/plan-book.js';
import { PlanRegistry } from '../../lib/core/plan-registry.js';

/** A registry that answers with whatever it is told to, and counts how often it was asked. */
class FreeRegistry extends PlanRegistry {
  asked = 0;

  constructor(
    readonly answer: (name: string) => unknown,
    public versionNumber?: number,
  ) {
    super();
  }

  override get version(): number | undefined {
    return this.versionNumber;
  }

  override find(name: string): Awaitable<PlanDefinition | undefined> {
    this.asked++;
    return this.answer(name) as Awaitable<PlanDefinition | undefined>;
  }
}

/** A promise of another library: it can only be waited for. */
const foreign = <T>(value: T) => ({
  then: (resolve: (value: T) => void) => resolve(value),
});

describe('a book of plans', () => {
  it('finds a plan at once when the registry does', () => {
    const book = new PlanBook(new InMemoryPlanRegistry({ gold: '5/s' }));
    expect(book.find('gold')).toMatchObject({ name: 'gold', quota: 5 });
  });

  it.each([
    ['a promise', (value: unknown) => Promise.resolve(value)],
    ['a thenable', foreign],
  ])('waits for %s', async (_what, wrap) => {
    const book = new PlanBook(
      new FreeRegistry((name) => wrap(name === 'gold' ? '5/s' : undefined)),
    );
    expect(await book.find('gold')).toMatchObject({ name: 'gold', quota: 5 });
    expect(await book.find('7/s')).toMatchObject({ name: '7/s', quota: 7 });
    await expect(book.find('silver')).rejects.toThrow('Unknown plan "silver"');
  });

  it('makes a plan of a rate, unless the registry has one of that name', async () => {
    const book = new PlanBook(new InMemoryPlanRegistry({ gold: '5/s' }));
    expect(await book.find('100/minute')).toMatchObject({ name: '100/minute', quota: 100 });
    expect(await book.find('100 / Minute')).toMatchObject({ name: '100/minute', quota: 100 });
  });

  it('names the plans that there are when it does not find one', async () => {
    const book = new PlanBook(new InMemoryPlanRegistry({ gold: '5/s', silver: '1/s' }));
    await expect(book.find('golf')).rejects.toMatchObject({
      code: 'UNKNOWN_PLAN',
      message: 'Unknown plan "golf". Known plans: "gold", "silver".',
    });
  });

  it('says so when there are none', async () => {
    await expect(new PlanBook(new InMemoryPlanRegistry()).find('gold')).rejects.toThrow(
      'Unknown plan "gold". No plans are registered.',
    );
  });

  it('names no more than fifty', async () => {
    const plans = Object.fromEntries(
      Array.from({ length: 60 }, (_, i) => [`p${i}`, '1/s'] as const),
    );
    const book = new PlanBook(new InMemoryPlanRegistry(plans));
    await expect(book.find('gold')).rejects.toThrow(/"p49", \.\.\.\.$/);
  });

  it.each(['constructor', '__proto__', 'toString', ''])('does not know %j', async (name) => {
    const book = new PlanBook(new InMemoryPlanRegistry({ gold: '5/s' }));
    await expect(book.find(name)).rejects.toThrow(`Unknown plan ${JSON.stringify(name)}.`);
  });

  it('refuses a bad definition, naming the plan', async () => {
    const bad = { capacity: -7, tokensPerSecond: 1 };
    const atOnce = new PlanBook(new FreeRegistry(() => bad));
    expect(() => atOnce.find('gold')).toThrow('Plan "gold": capacity');
    const later = new PlanBook(new FreeRegistry(() => Promise.resolve(bad)));
    await expect(later.find('gold')).rejects.toThrow('Plan "gold": capacity');
  });

  it('passes on what a registry throws', async () => {
    const book = new PlanBook(new FreeRegistry(() => Promise.reject(new Error('no database'))));
    await expect(book.find('gold')).rejects.toThrow('no database');
  });

  it('asks a registry again only when its version has changed', async () => {
    let definition = '5/s';
    const registry = new FreeRegistry(() => Promise.resolve(definition), 1);
    const book = new PlanBook(registry);
    await book.find('gold');
    definition = '7/s';
    expect(await book.find('gold')).toMatchObject({ quota: 5 });
    expect(registry.asked).toBe(1);
    registry.versionNumber = 2;
    expect(await book.find('gold')).toMatchObject({ quota: 7 });
    expect(registry.asked).toBe(2);
  });

  it('asks no registry for a rate, since no plan is called like one', async () => {
    const asked: string[] = [];
    class DownRegistry extends PlanRegistry {
      override find(name: string): never {
        asked.push(name);
        throw new Error('the database is down');
      }
    }
    const book = new PlanBook(new DownRegistry());
    expect(await book.find('5/10s')).toMatchObject({ name: '5/10s', quota: 5 });
    expect(await book.find('5/10s')).toMatchObject({ name: '5/10s', quota: 5 });
    expect(asked).toEqual([]);
  });

  it('asks a registry without a version every time', async () => {
    let definition: PlanDefinition | undefined = '5/s';
    const book = new PlanBook(new FreeRegistry(() => definition));
    expect(await book.find('gold')).toMatchObject({ quota: 5 });
    definition = '7/s';
    expect(await book.find('gold')).toMatchObject({ quota: 7 });
    definition = undefined;
    await expect(book.find('gold')).rejects.toThrow('Unknown plan "gold"');
  });

  it('checks a definition once while it stays the same', () => {
    const definition = { capacity: 5, tokensPerSecond: 1 };
    const book = new PlanBook(new FreeRegistry(() => definition));
    expect(book.find('gold')).toBe(book.find('gold'));
  });

  it('sees a change, a removal and an addition at once', async () => {
    const registry = new InMemoryPlanRegistry({ gold: '5/s' });
    const book = new PlanBook(registry);
    await book.find('gold');
    registry.set('gold', '7/s');
    expect(await book.find('gold')).toMatchObject({ quota: 7 });
    registry.delete('gold');
    await expect(book.find('gold')).rejects.toThrow('Unknown plan "gold"');
    registry.set('gold', '9/s');
    expect(await book.find('gold')).toMatchObject({ quota: 9 });
  });

  it('goes on finding plans beyond those that it remembers', async () => {
    const registry = new FreeRegistry((name) => `${name.slice(1)}/s`, 1);
    const book = new PlanBook(registry);
    for (let i = 1; i <= 1_001; i++) await book.find(`p${i}`);
    expect(await book.find('p1001')).toMatchObject({ quota: 1_001 });
    expect(registry.asked).toBe(1_001);
    expect(await book.find('p1')).toMatchObject({ quota: 1 });
    expect(registry.asked).toBe(1_002);
  });

  it('does not keep an older answer that arrives after the version has changed', async () => {
    const answers: ((definition: string) => void)[] = [];
    const registry = new FreeRegistry(() => new Promise((resolve) => answers.push(resolve)), 1);
    const book = new PlanBook(registry);
    const early = book.find('gold');
    registry.versionNumber = 2;
    const late = book.find('gold');
    answers[1]!('7/s');
    expect(await late).toMatchObject({ quota: 7 });
    answers[0]!('5/s');
    expect(await early).toMatchObject({ quota: 5 });
    const again = book.find('gold');
    answers[2]?.('7/s');
    expect(await again).toMatchObject({ quota: 7 });
  });
});
