import { execFile } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { compileLib } from '../../support/compiled-lib.mjs';

const run = promisify(execFile);

/** What an application that speaks HTTP alone has installed. */
const INSTALLED = [
  '@nestjs/common',
  '@nestjs/core',
  '@nestjs/platform-express',
  'cluster-key-slot',
  'ioredis',
  'ipaddr.js',
  'reflect-metadata',
  'rxjs',
];

/** Boots with a handler that has this metadata, asks for a page three times, and prints what happened. */
const APP = `
import 'reflect-metadata';
import { register } from 'node:module';
register(process.env.IMPORTS_HOOK);
const { Controller, Get, Module, SetMetadata } = await import('@nestjs/common');
const { NestFactory } = await import('@nestjs/core');
const { RateLimit, RateLimitModule } = await import('./lib/index.js');

class Page {
  page() { return 'ok'; }
  handle() {}
}
const decorate = (name, ...decorators) => {
  const descriptor = Object.getOwnPropertyDescriptor(Page.prototype, name);
  for (const one of decorators) one(Page.prototype, name, descriptor);
};
Controller()(Page);
decorate('page', Get(), RateLimit('2/hour'));
const metadata = process.argv[2];
if (metadata) decorate('handle', SetMetadata(metadata, true), RateLimit('2/hour'));
class App {}
Module({ imports: [RateLimitModule.forRoot()], controllers: [Page] })(App);

const done = (result) => process.stdout.write(JSON.stringify(result));
try {
  const app = await NestFactory.create(App, { logger: false, abortOnError: false });
  await app.listen(0, '127.0.0.1');
  const statuses = [];
  for (let i = 0; i < 3; i++) statuses.push((await fetch(await app.getUrl())).status);
  await app.close();
  done({ statuses });
} catch ({ code, message }) {
  done({ code, message });
}
`;

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'floodgate-optional-'));
  cpSync(dirname(fileURLToPath(compileLib())), join(folder, 'lib'), { recursive: true });
  for (const name of INSTALLED) {
    const place = join(folder, 'node_modules', name);
    mkdirSync(dirname(place), { recursive: true });
    symlinkSync(join(process.cwd(), 'node_modules', name), place, 'dir');
  }
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }\n');
  writeFileSync(join(folder, 'app.js'), APP);
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function runApp(metadata = ''): Promise<{ told: unknown; imported: string[] }> {
  const list = join(folder, 'imports.txt');
  writeFileSync(list, '');
  const { stdout } = await run(process.execPath, ['app.js', metadata], {
    cwd: folder,
    env: {
      ...process.env,
      NODE_OPTIONS: '',
      IMPORTS_HOOK: pathToFileURL(join('test', 'support', 'imports-hook.mjs')).href,
      IMPORTS_FROM: pathToFileURL(join(folder, 'lib')).href,
      IMPORTS_LIST: list,
    },
  });
  const imported = readFileSync(list, 'utf8').split('\n').filter(Boolean);
  return { told: JSON.parse(stdout), imported: [...new Set(imported)].sort() };
}

describe('an application that speaks HTTP alone', () => {
  it('runs without any optional package, and none is even looked for', async () => {
    const { told, imported } = await runApp();
    expect(told).toEqual({ statuses: [200, 200, 429] });
    const packages = imported.filter((name) => !name.startsWith('node:'));
    expect(packages).toEqual([
      '@nestjs/common',
      '@nestjs/common/constants.js',
      '@nestjs/core',
      'cluster-key-slot',
      'ioredis',
      'ipaddr.js',
      'rxjs',
    ]);
  });

  it.each([
    ['websockets:message_mapping', '@nestjs/websockets', 'Limits on WebSocket gateways'],
    ['microservices:pattern', '@nestjs/microservices', 'Limits on microservice messages'],
  ])('is told what to install when it has a handler with %s', async (metadata, name, what) => {
    const { told, imported } = await runApp(metadata);
    expect(told).toEqual({
      code: 'MISSING_PACKAGE',
      message: `@RateLimit on Page.handle: ${what} need the package ${name}: npm install ${name}`,
    });
    expect(imported).toContain(name);
  });
});
