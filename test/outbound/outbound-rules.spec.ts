import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { checked } from '../../lib/core/check/check.js';
import { definePlan } from '../../lib/core/define-plan.js';
import { InvalidDomainError } from '../../lib/outbound/domain-name.js';
import { TokenBucket } from '../../lib/core/token-bucket.js';
import type { TokenBucketPlan } from '../../lib/core/plan.js';
import type { DomainRule } from '../../lib/outbound/domain-rule.js';
import {
  domainRule,
  InvalidDomainRuleError,
  ruleError,
  warningsOf,
} from '../../lib/outbound/domain-rule.js';
import type { OutboundRulesOptions } from '../../lib/outbound/outbound-rules.js';
import { DEFAULT_DOMAIN_RULE, OutboundRules } from '../../lib/outbound/outbound-rules.js';

const rule = (requestsPerSecond: number, burstCapacity = 1): DomainRule => ({
  requestsPerSecond,
  burstCapacity,
});

function messageOf(make: () => unknown): string {
  try {
    make();
  } catch (error) {
    expect(error).toBeInstanceOf(InvalidDomainRuleError);
    expect(error).toMatchObject({ code: 'INVALID_OPTION', name: 'InvalidDomainRuleError' });
    return (error as Error).message;
  }
  return 'nothing was thrown';
}

/** What somebody without types might write. */
const checkAny = (given: unknown) => {
  const path = ['domains', 'javdb.com'];
  return warningsOf(path, checked(domainRule, given, ruleError, path));
};
const rulesOfAny = (options: unknown) => new OutboundRules(options as OutboundRulesOptions);

describe('a rule', () => {
  it.each([
    { requestsPerSecond: 1, burstCapacity: 1 },
    { requestsPerSecond: 0.001, burstCapacity: 1, maxConcurrent: 1 },
    { requestsPerSecond: 1e6, burstCapacity: 6e7, maxConcurrent: 1e12 },
    { requestsPerSecond: 2, burstCapacity: 120, maxConcurrent: undefined },
  ])('%j is fine', (given) => {
    const expected = given.requestsPerSecond === 0.001 ? 1 : 0;
    expect(checkAny(given)).toHaveLength(expected);
  });

  const RATE = 'a number above 0, up to 1000000';
  const WHOLE = 'a whole number from 1 to 1000000000000';
  const SLOTS = WHOLE.replace('from 1', 'from -1');
  it.each([
    ['requestsPerSecond', 0, RATE, '0'],
    ['requestsPerSecond', -1, RATE, '-1'],
    ['requestsPerSecond', 1_000_001, RATE, '1000001'],
    ['requestsPerSecond', Number.NaN, RATE, 'NaN'],
    ['requestsPerSecond', Infinity, RATE, 'Infinity'],
    ['requestsPerSecond', '1', RATE, '"1"'],
    ['requestsPerSecond', null, RATE, 'null'],
    ['requestsPerSecond', undefined, RATE, 'undefined'],
    ['burstCapacity', 0, WHOLE, '0'],
    ['burstCapacity', -1, WHOLE, '-1'],
    ['burstCapacity', 1.5, WHOLE, '1.5'],
    ['burstCapacity', 1e12 + 1, WHOLE, '1000000000001'],
    ['burstCapacity', '3', WHOLE, '"3"'],
    ['burstCapacity', true, WHOLE, 'true'],
    ['burstCapacity', undefined, WHOLE, 'undefined'],
    ['maxConcurrent', -2, `${SLOTS}, or left out`, '-2'],
    ['maxConcurrent', 2.5, `${SLOTS}, or left out`, '2.5'],
    ['maxConcurrent', null, `${SLOTS}, or left out`, 'null'],
    ['maxConcurrent', Infinity, `${SLOTS}, or left out`, 'Infinity'],
  ])('with a %s of %p is refused', (field, value, expected, quoted) => {
    expect(messageOf(() => checkAny({ ...rule(1), [field]: value }))).toBe(
      `domains["javdb.com"].${field} must be ${expected}, got ${quoted}.`,
    );
  });

  it.each([
    [
      'requests_per_second',
      'Did you mean "requestsPerSecond"? Known fields: "requestsPerSecond", "burstCapacity", "maxConcurrent", "throttle".',
    ],
    [
      'BurstCapacity',
      'Did you mean "burstCapacity"? Known fields: "requestsPerSecond", "burstCapacity", "maxConcurrent", "throttle".',
    ],
    [
      'max-concurrent',
      'Did you mean "maxConcurrent"? Known fields: "requestsPerSecond", "burstCapacity", "maxConcurrent", "throttle".',
    ],
    ['burst', 'Known fields: "requestsPerSecond", "burstCapacity", "maxConcurrent", "throttle".'],
    [
      '__proto__',
      'Known fields: "requestsPerSecond", "burstCapacity", "maxConcurrent", "throttle".',
    ],
  ])('with a field called %s is refused with a hint', (field, hint) => {
    const given = JSON.parse(`{"requestsPerSecond":1,"burstCapacity":1,"${field}":{}}`) as unknown;
    expect(messageOf(() => checkAny(given))).toBe(
      `domains["javdb.com"]: unknown field "${field}". ${hint}`,
    );
  });

  it.each([
    [null, 'null'],
    [5, '5'],
    ['1/s', '"1/s"'],
    [[1, 1], '[1,1]'],
    [undefined, 'undefined'],
  ])('is an object, not %p', (given, quoted) => {
    expect(messageOf(() => checkAny(given))).toBe(
      'domains["javdb.com"] must be an object with "requestsPerSecond", "burstCapacity", ' +
        `"maxConcurrent", "throttle", got ${quoted}.`,
    );
  });

  it('may take ten years to fill its burst, and no longer', () => {
    const slowest = 1 / 315_360_000;
    expect(checkAny(rule(slowest))).toHaveLength(1);
    expect(messageOf(() => checkAny(rule(3.1e-9)))).toBe(
      'domains["javdb.com"]: at a requestsPerSecond of 3.1e-9 it takes more than ten years until ' +
        '1 may go at once. Raise it or lower burstCapacity.',
    );
    expect(messageOf(() => checkAny(rule(slowest, 2)))).toContain('until 2 may go at once');
    expect(messageOf(() => checkAny(rule(Number.MIN_VALUE)))).toContain('ten years');
  });

  it.each([
    [rule(1, 60), []],
    [rule(1.1, 66), []],
    [
      rule(1.1, 67),
      [
        `domains["javdb.com"]: a burst of 67 is more than a minute's worth of requests (66). ` +
          'Is that what the domain allows?',
      ],
    ],
    [
      rule(0.01, 1),
      [
        `domains["javdb.com"]: a burst of 1 is more than a minute's worth of requests (0.6). ` +
          'Is that what the domain allows?',
      ],
    ],
  ])('%j warns %j', (given, warnings) => {
    expect(checkAny(given)).toEqual(warnings);
  });

  it('that is fine makes a plan that decides', () => {
    const rates = fc.double({ min: 1e-12, max: 2e6, noNaN: true });
    const bursts = fc.oneof(fc.integer({ min: 1, max: 100 }), fc.integer({ min: 1, max: 1e12 }));
    let fine = 0;
    fc.assert(
      fc.property(rates, bursts, (requestsPerSecond, burstCapacity) => {
        const bucket = { capacity: burstCapacity, tokensPerSecond: requestsPerSecond };
        try {
          checkAny(rule(requestsPerSecond, burstCapacity));
        } catch {
          return;
        }
        fine++;
        const plan = definePlan('javdb', bucket) as TokenBucketPlan;
        const counter = new TokenBucket(plan, 0);
        counter.charge(plan, burstCapacity, 0);
        const waitUs = counter.waitUs(plan, 1, 0);
        expect(waitUs).toBeGreaterThan(0);
        expect(waitUs).toBeLessThanOrEqual(Math.ceil(1e6 / requestsPerSecond) + 1);
      }),
    );
    expect(fine).toBeGreaterThan(20);
  });
});

describe('the rules', () => {
  const rules = new OutboundRules({
    default: rule(3, 5),
    domains: {
      'JavDB.com': rule(1),
      'https://av-wiki.net/': rule(2, 3),
      '*.example.com': rule(10),
      '*.eu.example.com': rule(20),
      'api.eu.example.com': { ...rule(30), maxConcurrent: 4 },
      '*.Bücher.example.': rule(40),
      '192.0.2.1': rule(50),
      '[2001:DB8::1]': rule(60),
    },
  });

  it.each([
    ['javdb.com', 1, 'javdb.com'],
    ['https://JAVDB.com:443/x', 1, 'javdb.com'],
    ['www.javdb.com', 3, 'default'],
    ['av-wiki.net', 2, 'av-wiki.net'],
    ['example.com', 3, 'default'],
    ['notexample.com', 3, 'default'],
    ['com', 3, 'default'],
    ['a.example.com', 10, '*.example.com'],
    ['a.b.c.example.com', 10, '*.example.com'],
    ['eu.example.com', 10, '*.example.com'],
    ['a.eu.example.com', 20, '*.eu.example.com'],
    ['a.b.eu.example.com', 20, '*.eu.example.com'],
    ['api.eu.example.com', 30, 'api.eu.example.com'],
    ['a.api.eu.example.com', 20, '*.eu.example.com'],
    ['a.bücher.example', 40, '*.xn--bcher-kva.example'],
    ['192.0.2.1', 50, '192.0.2.1'],
    ['2001:db8::1', 60, '2001:db8::1'],
    ['constructor', 3, 'default'],
    ['__proto__', 3, 'default'],
  ])('for %s allow %d per second, by %s', (domain, requestsPerSecond, source) => {
    const found = rules.ruleFor(domain);
    expect([found.rule.requestsPerSecond, found.source]).toEqual([requestsPerSecond, source]);
  });

  it('keep every field', () => {
    expect(rules.ruleFor('api.eu.example.com').rule).toEqual({
      requestsPerSecond: 30,
      burstCapacity: 1,
      maxConcurrent: 4,
    });
  });

  it('refuse a domain that names no host', () => {
    expect(() => rules.ruleFor('')).toThrow('Expected a domain that names a host, got "".');
  });

  it.each([[undefined], [{}], [{ default: undefined, domains: undefined }]])(
    'made from %j let one request go each second',
    (options) => {
      const found = new OutboundRules(options).ruleFor('javdb.com');
      expect(found).toEqual({
        rule: { requestsPerSecond: 1, burstCapacity: 1 },
        source: 'default',
      });
      expect(DEFAULT_DOMAIN_RULE).toEqual(found.rule);
    },
  );

  it('never change, and answer without making anything', () => {
    const given = { ...rule(1) } as { requestsPerSecond: number; burstCapacity: number };
    const made = new OutboundRules({ default: given, domains: { 'a.com': given } });
    given.requestsPerSecond = 99;
    expect(made.ruleFor('a.com').rule.requestsPerSecond).toBe(1);
    expect(made.ruleFor('b.com').rule.requestsPerSecond).toBe(1);
    expect(made.ruleFor('a.com')).toBe(made.ruleFor('A.com'));
    expect(Object.isFrozen(made.ruleFor('a.com'))).toBe(true);
    expect(Object.isFrozen(made.ruleFor('a.com').rule)).toBe(true);
    expect(Object.isFrozen(made.warnings)).toBe(true);
  });

  it('collect the warnings of all', () => {
    const { warnings } = new OutboundRules({
      default: rule(1, 61),
      domains: { 'a.com': rule(1, 60), '*.B.com': rule(1, 100) },
    });
    expect(warnings).toEqual([
      `default: a burst of 61 is more than a minute's worth of requests (60). ` +
        'Is that what the domain allows?',
      `domains["*.b.com"]: a burst of 100 is more than a minute's worth of requests (60). ` +
        'Is that what the domain allows?',
    ]);
    expect(rules.warnings).toEqual([]);
  });

  it.each([
    [
      { 'a.com': rule(1), 'A.com.': rule(1) },
      'domains has two rules for "a.com". Keep one of them.',
    ],
    [
      { '*.a.com': rule(1), '*.https://u:secret@A.com': rule(1) },
      'domains has two rules for "*.a.com". Keep one of them.',
    ],
    [
      { default: rule(1) },
      'domains["default"] is no domain. Write the rule of all other domains as the default.',
    ],
    [
      { 'https://u:secret@default/': rule(1) },
      'domains["default"] is no domain. Write the rule of all other domains as the default.',
    ],
    [
      { '*': rule(1) },
      'domains["*"] is no domain. Write the rule of all other domains as the default.',
    ],
    [
      { '*.192.0.2.1': rule(1) },
      'domains["*.192.0.2.1"]: nothing is below an address. Write "192.0.2.1" alone.',
    ],
    [
      { 'https://u:secret@A.com': rule(0) },
      'domains["a.com"].requestsPerSecond must be a number above 0, up to 1000000, got 0.',
    ],
    [
      { '*.A.com': rule(1, 0) },
      'domains["*.a.com"].burstCapacity must be a whole number from 1 to 1000000000000, got 0.',
    ],
  ])('of %j are refused', (domains, problem) => {
    expect(messageOf(() => rulesOfAny({ domains }))).toBe(problem);
  });

  it.each(['', '*.', '*.*.a.com', 'a.*.com', '*a.com', 'a b'])('refuse the key %j', (key) => {
    expect(() => rulesOfAny({ domains: { [key]: rule(1) } })).toThrow(InvalidDomainError);
  });

  it.each([
    [
      { default: rule(0) },
      'default.requestsPerSecond must be a number above 0, up to 1000000, got 0.',
    ],
    [
      { defaults: rule(1) },
      'The outbound rules: unknown field "defaults". Did you mean "default"? Known fields: "default", "domains".',
    ],
    [[], 'The outbound rules must be an object with "default", "domains", got [].'],
    [null, 'The outbound rules must be an object with "default", "domains", got null.'],
    [{ domains: [] }, 'domains must be an object of rules by domain, got [].'],
    [{ domains: null }, 'domains must be an object of rules by domain, got null.'],
    [{ domains: 'a.com' }, 'domains must be an object of rules by domain, got "a.com".'],
  ])('are not made from %j', (options, problem) => {
    expect(messageOf(() => rulesOfAny(options))).toBe(problem);
  });

  it('are at most 100000', () => {
    const names = Array.from(
      { length: 100_001 },
      (_, index) => [`h${index}.com`, rule(1)] as const,
    );
    expect(messageOf(() => rulesOfAny({ domains: Object.fromEntries(names) }))).toBe(
      'domains must be an object of rules by domain with at most 100000 entries, got 100001. ' +
        'Wildcards such as "*.example.com" stand for many.',
    );
    const made = rulesOfAny({ domains: Object.fromEntries(names.slice(1)) });
    expect(made.ruleFor('h100000.com').source).toBe('h100000.com');
  });

  it('are not confused by a key called __proto__', () => {
    const domains = JSON.parse('{"__proto__":{"requestsPerSecond":7,"burstCapacity":7}}') as Record<
      string,
      DomainRule
    >;
    const made = new OutboundRules({ domains });
    expect(made.ruleFor('__proto__').rule.requestsPerSecond).toBe(7);
    expect(made.ruleFor('a.com')).toEqual({ rule: rule(1), source: 'default' });
    expect(({} as Partial<DomainRule>).requestsPerSecond).toBeUndefined();
  });
});

describe('the difference of rules', () => {
  const before = new OutboundRules({
    domains: {
      'same.com': rule(1),
      'rate.com': rule(1),
      'burst.com': rule(1, 1),
      'slots.com': { ...rule(1), maxConcurrent: 2 },
      'gone.com': rule(1),
      '*.gone.com': rule(1),
      '*.star.com': rule(1),
    },
  });
  const after = new OutboundRules({
    default: rule(2),
    domains: {
      'new.com': rule(1),
      'https://SAME.com': { ...rule(1), maxConcurrent: undefined },
      'rate.com': rule(2),
      'burst.com': rule(1, 2),
      'slots.com': rule(1),
      '*.star.com': rule(3),
      '*.same.com': rule(1),
    },
  });

  it('names what was added, changed and removed', () => {
    expect(before.difference(after)).toEqual({
      added: ['new.com', '*.same.com'],
      changed: ['default', 'rate.com', 'burst.com', 'slots.com', '*.star.com'],
      removed: ['gone.com', '*.gone.com'],
    });
  });

  it('is nothing between equals', () => {
    const none = { added: [], changed: [], removed: [] };
    expect(before.difference(before)).toEqual(none);
    expect(new OutboundRules().difference(new OutboundRules({ default: rule(1) }))).toEqual(none);
  });
});
