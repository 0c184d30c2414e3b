import { describe, expect, it } from '@jest/globals';
import { InvalidPlanError } from '../../lib/core/errors.js';
import { InMemoryPlanRegistry } from '../../lib/core/in-memory-plan-registry.js';
import type { PlanDefinition } from '../../lib/core/plan.js';

const GOLD = { capacity: 10, tokensPerSecond: 1 };
const BAD = { capacity: Number.NaN, tokensPerSecond: 1 };

describe('plans held in the process', () => {
  it('are found by name', () => {
    const registry = new InMemoryPlanRegistry({ gold: GOLD, silver: '5/s' });
    expect(registry.find('gold')).toEqual(GOLD);
    expect(registry.find('silver')).toBe('5/s');
    expect(registry.find('bronze')).toBeUndefined();
    expect(registry.names()).toEqual(['gold', 'silver']);
  });

  it('may be none', () => {
    const registry = new InMemoryPlanRegistry();
    expect(registry.names()).toEqual([]);
    expect(registry.find('gold')).toBeUndefined();
  });

  it.each(['constructor', 'toString', '__proto__', 'hasOwnProperty'])(
    'are not found by the name %s when nobody wrote one',
    (name) => {
      expect(new InMemoryPlanRegistry({ gold: GOLD }).find(name)).toBeUndefined();
    },
  );

  it('may have a name that every object has', () => {
    const registry = new InMemoryPlanRegistry({ constructor: GOLD, toString: '5/s' } as Record<
      string,
      PlanDefinition
    >);
    expect(registry.find('constructor')).toEqual(GOLD);
    expect(registry.find('toString')).toBe('5/s');
  });

  it.each([
    ['__proto__', 'Plan "__proto__": a name starts with a letter'],
    ['', 'Plan "": a name starts with a letter'],
    ['a:b', 'Plan "a:b": a name starts with a letter'],
  ])('may not be named %j', (name, message) => {
    expect(() => new InMemoryPlanRegistry({ [name]: GOLD })).toThrow(message);
    expect(() => new InMemoryPlanRegistry().set(name, GOLD)).toThrow(message);
  });

  it('are checked when they are given', () => {
    expect(() => new InMemoryPlanRegistry({ gold: GOLD, bad: BAD })).toThrow(InvalidPlanError);
    expect(() => new InMemoryPlanRegistry({ gold: GOLD, bad: BAD })).toThrow(
      'Plan "bad": capacity',
    );
  });

  it('cannot be changed from outside', () => {
    const gold = { ...GOLD };
    const registry = new InMemoryPlanRegistry({ gold });
    registry.set('silver', gold);
    gold.capacity = 99;
    expect(registry.find('gold')).toEqual(GOLD);
    expect(registry.find('silver')).toEqual(GOLD);
    expect(Object.isFrozen(registry.find('gold'))).toBe(true);
  });

  it('can be added, replaced and deleted', () => {
    const registry = new InMemoryPlanRegistry({ gold: GOLD });
    registry.set('silver', '5/s');
    registry.set('gold', '7/s');
    expect([registry.find('gold'), registry.find('silver')]).toEqual(['7/s', '5/s']);
    expect(registry.delete('gold')).toBe(true);
    expect(registry.delete('gold')).toBe(false);
    expect(registry.names()).toEqual(['silver']);
  });

  it('keep the old definition when the new one is bad', () => {
    const registry = new InMemoryPlanRegistry({ gold: GOLD });
    const { version } = registry;
    expect(() => registry.set('gold', BAD)).toThrow('Plan "gold": capacity');
    expect(registry.find('gold')).toEqual(GOLD);
    expect(registry.version).toBe(version);
  });

  it('are replaced all at once, or none of them', () => {
    const registry = new InMemoryPlanRegistry({ gold: GOLD, silver: '5/s' });
    const { version } = registry;
    expect(() => registry.replaceAll({ bronze: '1/s', gold: BAD })).toThrow('Plan "gold"');
    expect(registry.names()).toEqual(['gold', 'silver']);
    expect(registry.version).toBe(version);
    registry.replaceAll({ bronze: '1/s', gold: '2/s' });
    expect(registry.names()).toEqual(['bronze', 'gold']);
    expect(registry.find('silver')).toBeUndefined();
  });

  it('have another version after every change', () => {
    const registry = new InMemoryPlanRegistry({ gold: GOLD });
    const versions = [registry.version];
    const note = () => versions.push(registry.version);
    registry.set('gold', GOLD);
    note();
    registry.set('silver', '5/s');
    note();
    registry.delete('silver');
    note();
    registry.replaceAll({ gold: GOLD });
    note();
    expect(new Set(versions).size).toBe(5);
  });

  it('keep their version while nothing changes', () => {
    const registry = new InMemoryPlanRegistry({ gold: GOLD });
    const { version } = registry;
    registry.find('gold');
    registry.names();
    registry.delete('unknown');
    expect(registry.version).toBe(version);
  });

  it('tell listeners what has changed, after it has', () => {
    const registry = new InMemoryPlanRegistry({ gold: GOLD });
    const heard: (readonly [readonly string[], unknown])[] = [];
    const stop = registry.onChange((names) => heard.push([names, registry.find('gold')]));
    registry.set('gold', '5/s');
    registry.replaceAll({ silver: '1/s' });
    registry.delete('silver');
    registry.delete('silver');
    expect(() => registry.set('gold', BAD)).toThrow();
    stop();
    registry.set('gold', GOLD);
    expect(heard).toEqual([
      [['gold'], '5/s'],
      [['gold', 'silver'], undefined],
      [['silver'], undefined],
    ]);
  });
});
