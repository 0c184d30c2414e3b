import 'reflect-metadata';
import { Agent, request as httpRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import type { INestApplication } from '@nestjs/common';
import { All, Controller, Get, Module } from '@nestjs/common';
import type { AbstractHttpAdapter } from '@nestjs/core';
import { NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import express from 'express';
import type { NextFunction, Request, Response } from 'express';
import { GatewayLimiter, RateLimitModule } from '../../lib/index.js';

jest.setTimeout(60_000);

/** Every way to write a word in large and small letters. */
function casesOf(word: string): string[] {
  return [...word].reduce(
    (begun, letter) =>
      begun.flatMap((text) => [text + letter.toLowerCase(), text + letter.toUpperCase()]),
    [''],
  );
}

const NAMES = [
  ...['login', 'LOGIN', '%6Cogin', '%6cogin', '%4Cogin', 'l%6Fg%69n', '%256Cogin', 'login%20'],
  ...['login;x', 'login;x=/', 'login%3Bx', 'login%00', 'log%C4%B1n', 'login%09', ';/login'],
];
const STARTS = ['/', '//', '///', '/./', '/%2e/', '/a/../', '/a/%2E%2e/', '/%2F', '/\\', '/;/'];
const ENDS = ['', '/', '//', '/.', '/..', '?x=/', '#x', '/?x', '%3Fx', '%23x', ';', '%2F', '%5C'];
const SPELLINGS = [
  ...new Set([
    ...casesOf('/login'),
    ...['login', 'LOGIN', 'login;x'].flatMap((name) => ENDS.map((end) => `/${name}${end}`)),
    ...NAMES.flatMap((name) => ['', '/', '?x'].map((end) => `/${name}${end}`)),
    ...STARTS.flatMap((start) => ['login', 'LoGiN', '%6Cogin'].map((name) => start + name)),
    ...[
      'http://a/login',
      'HTTP://a/login',
      'http://b/LOGIN?x',
      'http://a//login',
      'http://a:1/login',
    ],
    ...[
      'https://a/login',
      'http://u@a/login',
      'http://a/./login',
      'http://a\\login',
      'ftp://a/login',
    ],
    ...[
      '/kios%E2%84%AA',
      '/%E2%84%AAios%E2%84%AA',
      '/KIOSK',
      '/kio%C5%BFk',
      '/kio%c5%bfk/',
      '/kiosk',
    ],
    ...['/rewritten', '/login/../rewritten', '/x/login', '/login/x', '/loginx', '/log/in', '*'],
  ]),
];

let runs = 0;

@Controller()
class LoginController {
  @Get('login')
  login(): string {
    runs++;
    return 'in';
  }

  @Get('kiosk')
  kiosk(): string {
    runs++;
    return 'in';
  }
}

@Controller()
class ExpressProxyController {
  @All('*path')
  forward(): string {
    runs++;
    return 'forwarded';
  }
}

@Controller()
class FastifyProxyController {
  @All('*')
  forward(): string {
    runs++;
    return 'forwarded';
  }
}

type Options = NonNullable<ConstructorParameters<typeof FastifyAdapter>[0]>;
type Create = () => AbstractHttpAdapter;

function withExpress(...settings: string[]): Create {
  return () => {
    const app = express();
    for (const setting of settings) app.enable(setting);
    return new ExpressAdapter(app);
  };
}

function withFastify(options: object = {}): Create {
  return () => new FastifyAdapter({ ...options, forceCloseConnections: true } as Options);
}

const CASE = 'case sensitive routing';
const STRICT = 'strict routing';
const PLATFORMS: readonly (readonly [name: string, create: Create, isSensitive: boolean])[] = [
  ['Express', withExpress(), false],
  ['Express, strict', withExpress(STRICT), false],
  ['Express, case sensitive', withExpress(CASE), true],
  ['Express, case sensitive and strict', withExpress(CASE, STRICT), true],
  ['Fastify', withFastify(), true],
  ['Fastify, any case', withFastify({ caseSensitive: false }), false],
  [
    'Fastify, any case by router options',
    withFastify({ routerOptions: { caseSensitive: false } }),
    false,
  ],
  [
    'Fastify, any slashes',
    withFastify({ routerOptions: { ignoreTrailingSlash: true, ignoreDuplicateSlashes: true } }),
    true,
  ],
  [
    'Fastify, as loose as can be',
    withFastify({
      routerOptions: {
        ...{ caseSensitive: false, ignoreTrailingSlash: true },
        ...{ ignoreDuplicateSlashes: true, useSemicolonDelimiter: true },
      },
    }),
    false,
  ],
];

const agent = new Agent({ keepAlive: true, maxSockets: 8 });
let app: INestApplication | undefined;

afterEach(async () => {
  await app?.close();
  app = undefined;
});

async function start(
  adapter: AbstractHttpAdapter,
  controllers: (new () => object)[] = [LoginController],
): Promise<GatewayLimiter> {
  class AppModule {}
  const backends = [{ name: 'app' }];
  const routes = ['login', 'kiosk'].map((id) => ({
    id,
    host: '*',
    path: `/${id}`,
    backend: 'app',
  }));
  Module({ imports: [RateLimitModule.forRoot({ gateway: { backends, routes } })], controllers })(
    AppModule,
  );
  app = await NestFactory.create(AppModule, adapter, {
    logger: false,
    forceCloseConnections: true,
  });
  if (adapter instanceof ExpressAdapter) {
    app.use((request: Request, _response: Response, next: NextFunction) => {
      if (request.url === '/rewritten') request.url = '/login';
      next();
    });
  }
  await app.listen(0, '127.0.0.1');
  return app.get(GatewayLimiter);
}

function statusOf(path: string): Promise<number> {
  const { port } = (app!.getHttpServer() as { address(): AddressInfo }).address();
  return new Promise((resolve) => {
    const asked = httpRequest({ host: '127.0.0.1', port, path, agent, headers: { host: 'a' } });
    asked.on('response', (response) => {
      response.resume().on('end', () => resolve(response.statusCode!));
    });
    // What the parser of HTTP refuses, no application sees.
    asked.on('error', () => resolve(0)).end();
  });
}

async function statusesOf(paths: readonly string[]): Promise<Map<string, number>> {
  const statuses = new Map<string, number>();
  for (let i = 0; i < paths.length; i += 8) {
    const some = paths.slice(i, i + 8);
    const told = await Promise.all(some.map(statusOf));
    some.forEach((path, at) => statuses.set(path, told[at]!));
  }
  return statuses;
}

/** Lets nothing pass on either route. */
async function close(gateway: GatewayLimiter): Promise<void> {
  for (const id of ['login', 'kiosk']) await gateway.updateRoute(id, { maxQps: 0 });
}

describe('spellings of a path', () => {
  it.each(PLATFORMS)(
    'that reach a handler on %s do not escape the limit of its route',
    async (_name, create, isSensitive) => {
      const gateway = await start(create());
      const open = await statusesOf(SPELLINGS);
      const reaching = SPELLINGS.filter((path) => open.get(path) === 200);
      expect(reaching).toEqual(expect.arrayContaining(['/login', '/kiosk', '/login?x=/']));
      expect(reaching.includes('/LOGIN')).toBe(!isSensitive);
      await close(gateway);
      runs = 0;
      const closed = await statusesOf(SPELLINGS);
      expect(SPELLINGS.filter((path) => closed.get(path) === 200)).toEqual([]);
      expect(runs).toBe(0);
      const others = isSensitive ? ['/LOGIN', '/Login', '/KIOSK', '/loginx'] : ['/loginx'];
      for (const path of others) expect(closed.get(path)).toBe(404);
    },
  );

  it('are all the same where a route takes every path, and may hand it on', async () => {
    for (const [create, controller] of [
      [withExpress(CASE), ExpressProxyController],
      [withFastify(), FastifyProxyController],
    ] as const) {
      const gateway = await start(create(), [controller]);
      await close(gateway);
      runs = 0;
      const cases = casesOf('login').map((name) => `/${name}`);
      expect(new Set((await statusesOf(cases)).values())).toEqual(new Set([429]));
      expect(runs).toBe(0);
      expect(await statusOf('/other')).toBe(200);
      await app!.close();
    }
  });

  it('are limited together: of 32 spellings of /login under one a second, few pass', async () => {
    const gateway = await start(withExpress()());
    await gateway.updateRoute('login', { maxQps: 1 });
    const begun = performance.now();
    runs = 0;
    await Promise.all(casesOf('login').map((name) => statusOf(`/${name}`)));
    expect(runs).toBeLessThanOrEqual(1 + Math.floor((performance.now() - begun) / 1_000));
  });

  it('are read after the platform has changed the target', async () => {
    const rewriteUrl = ({ url }: { url?: string }) => (url === '/rewritten' ? '/login' : url!);
    for (const create of [withExpress(), withFastify({ rewriteUrl })]) {
      const gateway = await start(create());
      expect(await statusOf('/rewritten')).toBe(200);
      await close(gateway);
      expect(await statusOf('/rewritten')).toBe(429);
      await app!.close();
    }
  });
});
