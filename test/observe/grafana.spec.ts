import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { DEFAULT_PREFIX, METRICS } from '../../lib/observe/metrics.js';

interface Dashboard {
  readonly panels: readonly {
    readonly id: number;
    readonly title: string;
    readonly gridPos: { readonly x: number; readonly y: number; readonly w: number };
    readonly targets: readonly { readonly expr: string }[];
  }[];
  readonly templating: { readonly list: readonly { readonly definition?: string }[] };
}

interface Alerts {
  readonly groups: readonly {
    readonly rules: readonly {
      readonly alert: string;
      readonly expr: string;
      readonly annotations: { readonly summary: string; readonly description: string };
    }[];
  }[];
}

const folder = 'lib/observe/grafana';
const dashboard = JSON.parse(readFileSync(`${folder}/dashboard.json`, 'utf8')) as Dashboard;
const alerts = parse(readFileSync(`${folder}/alerts.yaml`, 'utf8')) as Alerts;
const rules = alerts.groups.flatMap((group) => group.rules);

/** Labels by the names under which the metrics are stored. */
const KNOWN = new Map<string, readonly string[]>(
  METRICS.flatMap(({ prometheus, kind, labels }): [string, string[]][] => {
    const name = `${DEFAULT_PREFIX}_${prometheus}`;
    const own = [...labels.map((label) => label.replaceAll('.', '_')), 'instance'];
    if (kind !== 'histogram') return [[name, own]];
    return ['bucket', 'sum', 'count'].map((part) => [`${name}_${part}`, [...own, 'le']]);
  }),
);

const VALUES: Readonly<Record<string, readonly string[]>> = {
  result: ['allowed', 'delayed', 'denied', 'bypassed', 'success', 'error'],
  direction: ['inbound', 'outbound'],
  dry_run: ['true', 'false'],
  state: ['normal', 'cooling', 'trying'],
  to: ['normal', 'cooling'],
  kind: ['rate', 'burst', 'concurrency'],
};

/** What an expression asks for that there is not. */
function unknownIn(expression: string): string[] {
  const unknown: string[] = [];
  for (const [, name, selector = ''] of expression.matchAll(/(ratelimit_\w+)(?:\{([^}]*)\})?/g)) {
    const labels = KNOWN.get(name!);
    if (!labels) unknown.push(name!);
    for (const [, label, operator, value] of selector.matchAll(/(\w+)\s*(=~|!=|=)\s*"([^"]*)"/g)) {
      if (!labels?.includes(label!)) unknown.push(`${name}{${label}}`);
      const values = VALUES[label!];
      if (operator === '=' && values && !values.includes(value!)) unknown.push(`${label}=${value}`);
    }
  }
  for (const [, labels] of expression.matchAll(/by \(([^)]*)\)/g)) {
    const all = [...KNOWN.values()].flat();
    unknown.push(...labels!.split(', ').filter((label) => !all.includes(label)));
  }
  return unknown;
}

describe('the dashboard and the alerts', () => {
  const asked = [
    ...dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)),
    ...dashboard.templating.list.flatMap(({ definition }) => definition ?? []),
    ...rules.map(({ expr }) => expr),
  ];

  it('ask only for metrics, labels and values that exist', () => {
    expect(asked.length).toBeGreaterThan(20);
    expect(asked.every((expression) => expression.includes('ratelimit_'))).toBe(true);
    expect(asked.flatMap(unknownIn)).toEqual([]);
  });

  it('would be caught asking for something else', () => {
    expect(unknownIn('rate(ratelimit_request_total[5m])')).toEqual(['ratelimit_request_total']);
    expect(unknownIn('ratelimit_keys{policy="x"}')).toEqual(['ratelimit_keys{policy}']);
    expect(unknownIn('ratelimit_requests_total{result="denied?"}')).toEqual(['result=denied?']);
    expect(unknownIn('sum by (user) (ratelimit_keys)')).toEqual(['user']);
  });

  it('show every metric that needs to be looked at', () => {
    const shown = asked.join(' ');
    const unseen = METRICS.map(({ prometheus }) => prometheus).filter(
      (name) => !shown.includes(`${DEFAULT_PREFIX}_${name}`),
    );
    expect(unseen).toEqual([
      'refunds_total',
      'deny_cache_hits_total',
      'lease_duration_seconds',
      'config_last_success_timestamp_seconds',
    ]);
  });

  it('say what happened and what to do', () => {
    expect(rules).toHaveLength(5);
    for (const { annotations } of rules) {
      expect(annotations.summary).toMatch(/\.$/);
      expect(annotations.description).toMatch(/\.$/);
    }
  });

  it('have panels that do not overlap', () => {
    const places = dashboard.panels.map(({ gridPos: { x, y } }) => `${x} ${y}`);
    expect(new Set(places).size).toBe(places.length);
    expect(dashboard.panels.every(({ gridPos: { x, w } }) => x + w <= 24)).toBe(true);
    expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length);
  });
});
