/* eslint-disable jest/valid-title, jest/valid-describe-callback, jest/no-disabled-tests --
   names and suites are those of the specs that call this */
import { afterAll, afterEach, beforeAll, describe, it } from '@jest/globals';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { chromium } from 'playwright-core';
import { isCi } from '../support/is-ci.js';
import { findChromium } from './chromium.mjs';

/** No sandbox, for tests may run as root; no calls home, for there may be no network. */
const ARGS = [
  ...['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--disable-quic'],
  ...['--disable-background-networking', '--disable-component-update', '--disable-sync'],
];
/** A browser that is fetched first, on a machine that does other things as well. */
const START_MS = 120_000;

/** A page that is looked at, and what it said and asked for meanwhile. */
export interface Visit {
  readonly page: Page;
  /** Errors and warnings in the console, and exceptions that nobody caught. */
  readonly complaints: readonly string[];
  /** Every address that was asked for. */
  readonly requests: readonly string[];
}

/** Opens pages. */
export interface Window {
  open(url: string, options?: BrowserContextOptions): Promise<Visit>;
}

/**
 * A suite that looks at pages in a real browser. Where none can be had it is skipped, with the reason
 * in its name; in CI, where nobody would read that, it fails.
 */
export function describeInBrowser(name: string, suite: (window: Window) => void): void {
  const found = findChromium();
  if ('browser' in found) describe(name, () => suite(new RealWindow(found.browser)));
  else if (isCi()) describe(name, () => void it('needs a browser', () => fail(found.reason)));
  else skip(`${name} (${found.reason})`, suite);
}

/** The reporter tells names of suites only when there is one file. */
function skip(name: string, suite: (window: Window) => void): void {
  console.warn(`Skipped: ${name}. Install chromium or set CHROMIUM_BIN.`);
  describe.skip(name, () => suite(new RealWindow(undefined)));
}

class RealWindow implements Window {
  #browser: Browser | undefined;

  constructor(found: { executablePath: string; env: Record<string, string> } | undefined) {
    beforeAll(async () => {
      const env = { ...process.env, ...found?.env } as Record<string, string>;
      const executablePath = found?.executablePath ?? '';
      this.#browser = await chromium.launch({ executablePath, env, args: ARGS });
    }, START_MS);
    afterEach(() => Promise.all(this.#browser?.contexts().map((one) => one.close()) ?? []));
    afterAll(() => this.#browser?.close());
  }

  async open(url: string, options: BrowserContextOptions = {}): Promise<Visit> {
    const context = await this.#browser!.newContext(options);
    const page = await context.newPage();
    const complaints: string[] = [];
    const requests: string[] = [];
    page.on('console', (message) => {
      if (message.type() !== 'log') complaints.push(`${message.type()}: ${message.text()}`);
    });
    page.on('pageerror', (error) => complaints.push(error.message));
    page.on('request', (request) => requests.push(request.url()));
    await page.goto(url);
    return { page, complaints, requests };
  }
}

function fail(reason: string): never {
  throw new Error(`No browser to test with: ${reason}. Install chromium or set CHROMIUM_BIN.`);
}
