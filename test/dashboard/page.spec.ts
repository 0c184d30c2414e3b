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

function hashOf(tag: string): string {
  const [, text] = new RegExp(`<${tag}>(.*?)</${tag}>`, 's').exec(PAGE)!;
  return `sha256-${createHash('sha256').update(text!).digest('base64')}`;
}
