import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { PAGE, SCRIPT_HASH, STYLE_HASH } from '../../lib/dashboard/page.js';

const SOURCES = 'lib/dashboard/page';
const EMBED: string = '../../lib/dashboard/page/embed.mjs';

describe('the page of the dashboard', () => {
  it('is shipped as it is in lib/dashboard/page/', async () => {
    const { embedded } = (await import(EMBED)) as { embedded: string };
    expect(readFileSync('lib/dashboard/page.ts', 'utf8')).toBe(embedded);
  });

  it('is one file of less than 100 kB that refers to no other', () => {
    expect(PAGE.length).toBeLessThan(100_000);
    expect(PAGE.match(/<script>/g)).toHaveLength(1);
    expect(PAGE).not.toMatch(/<(?:script|link|img)[^>]+(?:src|href)="(?!data:)/);
    expect(PAGE).not.toMatch(/@import|url\((?!data:)/);
  });

  it('has the hashes of the script and the style that are in it', () => {
    expect(hashOf('script')).toBe(SCRIPT_HASH);
    expect(hashOf('style')).toBe(STYLE_HASH);
  });

  it('keeps the notice of the plot library', () => {
    expect(PAGE).toContain('Copyright (c) 2022 Leon Sorokin');
    expect(PAGE).toContain('Permission is hereby granted, free of charge');
    expect(readFileSync('LICENSE', 'utf8')).toContain('uPlot');
  });

  it('makes no markup out of text', () => {
    const files = readdirSync(SOURCES, { recursive: true, encoding: 'utf8' });
    const scripts = files.filter((file) => file.endsWith('.ts'));
    expect(scripts.length).toBeGreaterThan(10);
    for (const file of scripts) {
      const source = readFileSync(join(SOURCES, file), 'utf8');
      expect(source).not.toMatch(/innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(/);
    }
  });
});

describe('the colours of the page', () => {
  const css = readFileSync(join(SOURCES, 'style.css'), 'utf8');
  const pairs = [...css.matchAll(/--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)/g)];
  const colors = new Map(
    pairs.map(([, name, light, dark]) => [name!, { light: light!, dark: dark! }]),
  );

  it.each(['light', 'dark'] as const)('can be read where it is %s', (theme) => {
    const color = (name: string) => luminance(colors.get(name)![theme]);
    const texts = ['text', 'quiet', 'bad', 'warning', 'good'];
    for (const name of texts) {
      expect([name, contrast(color(name), color('surface'))]).toEqual([name, READABLE]);
      expect([name, contrast(color(name), color('page'))]).toEqual([name, READABLE]);
    }
    const chips = ['good', 'warning', 'bad'].map((tone) => [tone, `${tone}-soft`]);
    for (const [name, behind] of [...chips, ['quiet', 'plain-soft']]) {
      expect([name, contrast(color(name!), color(behind!))]).toEqual([name, READABLE]);
    }
    for (const line of ['allowed', 'delayed', 'denied']) {
      expect([line, contrast(color(line), color('surface'))]).toEqual([line, VISIBLE]);
    }
  });
});

/** What WCAG 2 asks of text, and of what is drawn. */
const READABLE: unknown = atLeast(4.5);
const VISIBLE: unknown = atLeast(3);

function atLeast(least: number) {
  return { asymmetricMatch: (ratio: number) => ratio >= least, toString: () => `≥ ${least}` };
}

function contrast(one: number, other: number): number {
  return (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
}

function luminance(hex: string): number {
  const [red, green, blue] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red! + 0.7152 * green! + 0.0722 * blue!;
}

function hashOf(tag: string): string {
  const [, text] = new RegExp(`<${tag}>(.*?)</${tag}>`, 's').exec(PAGE)!;
  return `sha256-${createHash('sha256').update(text!).digest('base64')}`;
}
