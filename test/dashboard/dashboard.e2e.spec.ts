import fastifyHelmet from '@fastify/helmet';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { CallHandler, CanActivate, ExecutionContext, NestInterceptor } from '@nestjs/common';
import { Controller, Get, Injectable, Module, Query, VersioningType } from '@nestjs/common';
import type { INestApplication, ModuleMetadata } from '@nestjs/common';
import { APP_INTERCEPTOR } from '@nestjs/core';
import { DocumentBuilder, SwaggerModule } from '@nestjs/swagger';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import helmet from 'helmet';
import { map } from 'rxjs';
import type { DashboardData, DashboardOptions } from '../../lib/dashboard/index.js';
import { RateLimitDashboardModule } from '../../lib/dashboard/index.js';
import { PAGE, SCRIPT_HASH } from '../../lib/dashboard/page.js';
import { RateLimit, RateLimitError, RateLimitModule } from '../../lib/index.js';
import type { RateLimitOptions } from '../../lib/index.js';
import type { Adapter, HttpApp } from '../support/http-app.js';
import { adapters, bootApp, closeApps, startApp } from '../support/http-app.js';

@Controller('hello')
class HelloController {
  @Get()
  @RateLimit('2/minute')
  hello() {
    return 'Hello!';
  }
}

@Injectable()
class Passwords {
  readonly admin = 'open sesame';
}

@Module({ providers: [Passwords], exports: [Passwords] })
class AuthModule {}

@Injectable()
class AdminGuard implements CanActivate {
  constructor(private readonly passwords: Passwords) {}

  canActivate(context: ExecutionContext): boolean {
    const { headers } = context.switchToHttp().getRequest<{ headers: Record<string, string> }>();
    return headers['authorization'] === this.passwords.admin;
  }
}

@Injectable()
class WrapEverything implements NestInterceptor {
  intercept(_: ExecutionContext, next: CallHandler) {
    return next.handle().pipe(map((data: unknown) => ({ data })));
  }
}

function metadata(dashboard: DashboardOptions = {}, limits: RateLimitOptions = {}): ModuleMetadata {
  return {
    imports: [RateLimitModule.forRoot(limits), RateLimitDashboardModule.forRoot(dashboard)],
    controllers: [HelloController],
  };
}

function useHelmet(adapter: Adapter, app: INestApplication): void {
  if (adapter === 'express') app.use(helmet());
  else void (app as NestFastifyApplication).register(fastifyHelmet);
}

function dataOf({ json }: { json: unknown }): DashboardData {
  return json as DashboardData;
}

async function read(app: HttpApp, path = '/rate-limits/data.json'): Promise<DashboardData> {
  return dataOf(await app.get(path));
}

afterEach(closeApps);

describe.each(adapters)('the dashboard on %s', (adapter) => {
  it('answers with the page, which nobody keeps, indexes or adds to', async () => {
    const app = await startApp(adapter, metadata());
    const { status, headers, text } = await app.get('/rate-limits');
    expect([status, text]).toEqual([200, PAGE]);
    expect(headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
      'x-robots-tag': 'noindex, nofollow',
      'x-content-type-options': 'nosniff',
    });
    const policy = headers['content-security-policy'];
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain(`script-src '${SCRIPT_HASH}'`);
    expect(policy).not.toContain('unsafe');
  });

  it('answers with the numbers of what really happened', async () => {
    const app = await startApp(adapter, metadata({ title: 'My <b>API</b>' }));
    expect(await app.statuses(3, '/hello')).toEqual([200, 200, 429]);
    const answer = await app.get('/rate-limits/data.json');
    expect(answer.headers).toMatchObject({
      'content-type': 'application/json; charset=utf-8',
      'cache-control': 'no-store',
      'x-robots-tag': 'noindex, nofollow',
    });
    const { title, process: facts, stats } = dataOf(answer);
    expect(title).toBe('My <b>API</b>');
    expect(facts).toMatchObject({ pid: process.pid, environment: 'test' });
    expect(stats.totals).toMatchObject({ allowed: 2, delayed: 0, denied: 1 });
    expect(stats.plans.find(({ policy }) => policy === '2/minute')).toMatchObject({
      ...{ allowed: 2, denied: 1, quota: 2, peakUse: 1 },
    });
    expect(stats.lastDenials).toMatchObject([{ policy: '2/minute' }]);
    expect(answer.text).not.toContain('127.0.0.1');
  });

  it('replaces the policy of helmet, which would block the page', async () => {
    const app = await startApp(adapter, metadata(), {
      configure: (one) => useHelmet(adapter, one),
    });
    const page = await app.get('/rate-limits');
    const hello = await app.get('/hello');
    expect(hello.headers['content-security-policy']).toContain("script-src 'self'");
    expect(page.headers['content-security-policy']).toContain(`script-src '${SCRIPT_HASH}'`);
    expect(page.headers['content-security-policy']).not.toContain("script-src 'self'");
    expect(page.headers['x-frame-options']).toBe('SAMEORIGIN');
  });

  it('is below the global prefix and beside all versions', async () => {
    const app = await startApp(adapter, metadata({ path: 'admin/limits' }), {
      configure: (one) => {
        one.setGlobalPrefix('api');
        one.enableVersioning({ type: VersioningType.URI, defaultVersion: '1' });
      },
    });
    expect((await app.get('/api/v1/hello')).status).toBe(200);
    expect((await app.get('/api/admin/limits')).text).toBe(PAGE);
    expect((await read(app, '/api/admin/limits/data.json')).stats.totals.allowed).toBe(1);
    expect((await app.get('/admin/limits')).status).toBe(404);
  });

  it('is behind its guards, which inject what they need', async () => {
    const app = await startApp(adapter, metadata({ imports: [AuthModule], guards: [AdminGuard] }));
    const headers = { authorization: 'open sesame' };
    for (const path of ['/rate-limits', '/rate-limits/data.json']) {
      expect((await app.get(path)).status).toBe(403);
      expect((await app.get(path, { headers })).status).toBe(200);
    }
  });

  it('only shows', async () => {
    const app = await startApp(adapter, metadata());
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
      expect((await app.get('/rate-limits', { method })).status).toBe(404);
      expect((await app.get('/rate-limits/data.json', { method })).status).toBe(404);
    }
  });

  it('is neither limited nor counted', async () => {
    const gateway = {
      server: { rateLimit: { maxQps: 0 } },
      backends: [{ name: 'all' }],
      routes: [{ host: '*', backend: 'all' }],
    };
    const app = await startApp(adapter, metadata({}, { gateway }), {
      configure: (one) => one.setGlobalPrefix('api'),
    });
    expect((await app.get('/api/hello')).status).toBe(429);
    expect((await app.get('/api/rate-limits')).status).toBe(200);
    const { stats } = await read(app, '/api/rate-limits/data.json');
    expect(stats.totals.allowed).toBe(0);
    // What only looks like it is limited as everything else.
    for (const path of ['/api/rate-limits/other', '/api/rate-limits/data.json/x']) {
      expect((await app.get(path)).status).toBe(429);
    }
  });

  it('answers by itself, whatever the application makes of answers', async () => {
    const app = await startApp(adapter, {
      ...metadata(),
      providers: [{ provide: APP_INTERCEPTOR, useClass: WrapEverything }],
    });
    expect((await app.get('/hello')).json).toEqual({ data: 'Hello!' });
    expect((await app.get('/rate-limits')).text).toBe(PAGE);
    expect((await read(app)).stats.totals.allowed).toBe(1);
  });

  it('is not in the document of the API', async () => {
    const { app } = await bootApp(adapter, metadata());
    const { paths } = SwaggerModule.createDocument(app, new DocumentBuilder().build());
    expect(Object.keys(paths)).toEqual(['/hello']);
  });
});

describe('a dashboard', () => {
  it('works where the limiter is not global', async () => {
    const app = await startApp('express', {
      ...metadata(),
      imports: [RateLimitModule.forRoot({ isGlobal: false }), RateLimitDashboardModule.forRoot()],
    });
    await app.get('/hello');
    expect((await read(app)).stats.totals.allowed).toBe(1);
  });

  it('does not boot without the limiter', async () => {
    const boot = bootApp('express', { imports: [RateLimitDashboardModule.forRoot()] });
    await expect(boot).rejects.toMatchObject({ code: 'NOT_CONFIGURED' });
  });

  it('does not boot in production without guards', async () => {
    const before = process.env['NODE_ENV'];
    process.env['NODE_ENV'] = 'production';
    try {
      await expect(bootApp('express', metadata())).rejects.toThrow(RateLimitError);
      await expect(bootApp('express', metadata())).rejects.toMatchObject({
        code: 'DASHBOARD_UNPROTECTED',
      });
      const guards = [{ canActivate: () => true }];
      await expect(bootApp('express', metadata({ guards }))).resolves.toBeDefined();
    } finally {
      process.env['NODE_ENV'] = before;
    }
  });
});

describe('keys', () => {
  it('are masked before they leave the process', async () => {
    @Controller('by-name')
    class ByName {
      @Get()
      @RateLimit({
        plan: '1/minute',
        key: (request: { query: { who: string } }) => request.query.who,
      })
      hello(@Query('who') who: string) {
        return who;
      }
    }
    const app = await startApp('express', { ...metadata(), controllers: [ByName] });
    await app.statuses(2, '/by-name?who=somebody-with-a-secret-name');
    const { text } = await app.get('/rate-limits/data.json');
    expect(dataOf({ json: JSON.parse(text) }).stats.topKeys.denials).toHaveLength(1);
    expect(text).not.toContain('secret');
  });
});
