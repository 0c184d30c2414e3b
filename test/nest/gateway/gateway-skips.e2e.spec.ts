import 'reflect-metadata';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { INestApplication, ModuleMetadata, Type } from '@nestjs/common';
import {
  All,
  Controller,
  Get,
  Module,
  Param,
  Post,
  VERSION_NEUTRAL,
  Version,
  VersioningType,
} from '@nestjs/common';
import { NestFactory, RouterModule } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { FastifyAdapter, RouteConfig, RouteConstraints } from '@nestjs/platform-fastify';
import type { FastifyInstance } from 'fastify';
import type { LevelLimits } from '../../../lib/index.js';
import { RateLimitModule, SkipRateLimit } from '../../../lib/index.js';
import type { HttpApp, RequestOptions } from '../../support/http-app.js';
import { adapters, closeApps, LogLines, startApp } from '../../support/http-app.js';

afterEach(closeApps);

/** Refuses whatever is counted. */
const NOTHING = { server: { rateLimit: { maxQps: 0 } } };

@Controller('health')
class HealthController {
  @Get()
  @SkipRateLimit()
  live(): string {
    return 'live';
  }

  @Get('parts/:name')
  @SkipRateLimit()
  part(@Param('name') name: string): string {
    return name;
  }

  @Post()
  change(): string {
    return 'changed';
  }
}

@Controller()
class PageController {
  @Get('page')
  page(): string {
    return 'page';
  }
}

describe.each(adapters)('@SkipRateLimit() behind a gateway on %s', (adapter) => {
  const start = (
    controllers: Type[],
    configure?: (app: INestApplication) => void,
    more: ModuleMetadata = {},
  ): Promise<HttpApp> =>
    startApp(
      adapter,
      {
        controllers,
        ...more,
        imports: [RateLimitModule.forRoot({ gateway: NOTHING }), ...(more.imports ?? [])],
      },
      configure ? { configure } : {},
    );

  /** Whether a request is not counted. */
  async function isSkipped(http: HttpApp, path: string, options?: RequestOptions) {
    const { status } = await http.get(path, options);
    expect([200, 429]).toContain(status);
    return status === 200;
  }

  it('leaves a handler out, and nothing else', async () => {
    const http = await start([HealthController, PageController]);
    expect(await isSkipped(http, '/health')).toBe(true);
    expect(await isSkipped(http, '/health?verbose=1')).toBe(true);
    expect(await isSkipped(http, '/health', { method: 'HEAD' })).toBe(true);
    expect(await isSkipped(http, '/health/parts/db')).toBe(true);
    expect(await isSkipped(http, '/page')).toBe(false);
    expect((await http.get('/health', { method: 'POST' })).status).toBe(429);
    expect((await http.get('/health/parts')).status).toBe(429);
    expect((await http.get('/health/parts/a/b')).status).toBe(429);
    expect(http.logs.warnings).toEqual([]);
  });

  it('tells no limits of the gateway on such a handler', async () => {
    const http = await start([HealthController]);
    expect((await http.get('/health')).headers['ratelimit-policy']).toBeUndefined();
  });

  it.each(['/health/', '//health', '/%68ealth', '/health/parts/..%2Fx', '/health/./'])(
    'counts %s, which is not how the route is written',
    async (path) => {
      const http = await start([HealthController, PageController]);
      expect([400, 429]).toContain((await http.get(path)).status);
    },
  );

  it('leaves a class out, but for methods that are taken back in', async () => {
    @Controller('probes')
    @SkipRateLimit()
    class ProbesController {
      @Get('live')
      live(): string {
        return 'live';
      }

      @Get('deep')
      @SkipRateLimit(false)
      deep(): string {
        return 'deep';
      }
    }
    const http = await start([ProbesController]);
    expect(await isSkipped(http, '/probes/live')).toBe(true);
    expect(await isSkipped(http, '/probes/deep')).toBe(false);
  });

  it('knows prefixes, versions in paths and router modules', async () => {
    @Controller({ path: 'health', version: '2' })
    class VersionedController {
      @Get()
      @SkipRateLimit()
      live(): string {
        return 'live';
      }

      @Get('bare')
      @Version(VERSION_NEUTRAL)
      @SkipRateLimit()
      bare(): string {
        return 'bare';
      }
    }
    @Module({ controllers: [VersionedController] })
    class InnerModule {}
    const imports = [InnerModule, RouterModule.register([{ path: 'in', module: InnerModule }])];
    const http = await start(
      [PageController],
      (app) => {
        app.setGlobalPrefix('api');
        app.enableVersioning({ type: VersioningType.URI });
      },
      { imports },
    );
    expect(await isSkipped(http, '/api/v2/in/health')).toBe(true);
    expect(await isSkipped(http, '/api/in/health/bare')).toBe(true);
    expect(await isSkipped(http, '/api/page')).toBe(false);
  });

  it('counts where something else than the path chooses the handler, and says so', async () => {
    @Controller({ path: 'hosts', host: 'admin.example.com' })
    class HostController {
      @Get()
      @SkipRateLimit()
      live(): string {
        return 'live';
      }
    }
    @Controller({ path: 'headers', version: '2' })
    class HeaderController {
      @Get()
      @SkipRateLimit()
      live(): string {
        return 'live';
      }
    }
    const http = await start([HostController, HeaderController], (app) => {
      app.enableVersioning({ type: VersioningType.HEADER, header: 'X-Version' });
    });
    const headers = { host: 'admin.example.com', 'x-version': '2' };
    const isTold = adapter === 'fastify';
    expect(await isSkipped(http, '/hosts', { headers })).toBe(false);
    expect(await isSkipped(http, '/headers', { headers })).toBe(isTold);
    expect((await http.get('/headers', { headers: { 'x-version': '3' } })).status).toBe(429);
    const warnings = [
      "@SkipRateLimit() on HostController.live does not leave GET /hosts out of the gateway's " +
        'limits: its controller is for some hosts only.',
      "@SkipRateLimit() on HeaderController.live does not leave GET /headers out of the gateway's " +
        'limits: its version is not in the path.',
    ];
    // Fastify chooses by versions, and tells what it has chosen.
    expect(http.logs.warnings).toEqual(isTold ? warnings.slice(0, 1) : warnings);
  });

  it('counts where another route comes first, and says so', async () => {
    @Controller()
    class CatchAllController {
      @All(adapter === 'fastify' ? '*' : '*path')
      all(): string {
        return 'all';
      }
    }
    const behind = await start([CatchAllController, HealthController]);
    // Fastify looks for the closest route, Express for the first.
    expect(await isSkipped(behind, '/health')).toBe(adapter === 'fastify');
    expect(behind.logs.warnings).toHaveLength(adapter === 'fastify' ? 0 : 2);
    const before = await start([HealthController, CatchAllController]);
    expect(await isSkipped(before, '/health')).toBe(true);
    expect(await isSkipped(before, '/anything')).toBe(false);
  });

  it('counts a method that controllers share of which one is not left out', async () => {
    class Base {
      @Get('live')
      live(): string {
        return 'live';
      }
    }
    @Controller('one')
    @SkipRateLimit()
    class OneController extends Base {}
    @Controller('two')
    class TwoController extends Base {}
    const both = await start([OneController, TwoController]);
    expect(await isSkipped(both, '/two/live')).toBe(false);
    const one = await start([OneController]);
    expect(await isSkipped(one, '/one/live')).toBe(true);
  });
});

describe('@SkipRateLimit() behind a gateway where only Fastify knows the route', () => {
  @Controller()
  class SkippedController {
    @Get('items/:id')
    @SkipRateLimit()
    item(): string {
      return 'skipped';
    }

    @Get('internal')
    @RouteConstraints({ host: 'internal.local' })
    @RouteConfig({ own: true })
    @SkipRateLimit()
    internal(): string {
      return 'skipped';
    }
  }

  @Controller()
  class ProxyController {
    @All('*')
    all(): string {
      return 'proxy';
    }
  }

  async function start(rateLimit: LevelLimits) {
    const controllers = [SkippedController, ProxyController];
    const imports = [RateLimitModule.forRoot({ gateway: { server: { rateLimit } } })];
    class AppModule {}
    Module({ imports, controllers })(AppModule);
    const routerOptions = { maxParamLength: 20 };
    const adapter = new FastifyAdapter({ routerOptions });
    const logger = new LogLines();
    const app = await NestFactory.create<NestFastifyApplication>(AppModule, adapter, { logger });
    const plugin = (fastify: FastifyInstance, _options: object, done: () => void) => {
      fastify.get('/heavy', () => 'plugin');
      done();
    };
    await app.register(plugin, { prefix: '/items' });
    await app.init();
    const ask = (url: string, headers: Record<string, string> = {}) =>
      app.inject({ method: 'GET', url, headers });
    return { app, ask, warnings: logger.warnings };
  }

  it('counts what the router gives to another handler', async () => {
    const { app, ask, warnings } = await start({ maxQps: 0 });
    expect((await ask('/items/7')).body).toBe('skipped');
    expect((await ask('/internal', { host: 'internal.local' })).body).toBe('skipped');
    for (const path of ['/items/heavy', `/items/${'x'.repeat(30)}`, '/internal', '/other']) {
      const { statusCode, body } = await ask(path);
      expect([path, statusCode]).toEqual([path, 429]);
      expect(JSON.parse(body)).toMatchObject({ statusCode: 429 });
    }
    expect(warnings).toEqual([]);
    await app.close();
  });

  it('tells the limits there, and gives the connection back', async () => {
    const { app, ask } = await start({ maxConnections: 1, maxQps: 10 });
    for (let i = 0; i < 3; i++) {
      const { statusCode, headers, body } = await ask('/items/heavy');
      expect([statusCode, body]).toEqual([200, 'plugin']);
      expect(headers['ratelimit']).toContain(`r=${9 - i};`);
    }
    expect((await ask('/items/7')).headers['ratelimit']).toBeUndefined();
    await app.close();
  });
});
