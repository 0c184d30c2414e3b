import 'reflect-metadata';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { Type } from '@nestjs/common';
import { Controller, Get, HttpCode, Post } from '@nestjs/common';
import type { OpenAPIObject } from '@nestjs/swagger';
import {
  ApiOkResponse,
  ApiProperty,
  ApiTooManyRequestsResponse,
  DocumentBuilder,
  SwaggerModule,
} from '@nestjs/swagger';
import type { RateLimitOptions } from '../../lib/index.js';
import { RateLimit, RateLimitModule, SkipRateLimit } from '../../lib/index.js';
import type { Adapter } from '../support/http-app.js';
import { adapters, closeApps, startApp } from '../support/http-app.js';

afterEach(closeApps);

class Greeting {
  @ApiProperty()
  text!: string;
}

/** The document of an application, made before it is initialised, as in most `main.ts`. */
async function documentOf(
  adapter: Adapter,
  controllers: Type[],
  options: RateLimitOptions = {},
): Promise<OpenAPIObject> {
  let document: OpenAPIObject | undefined;
  await startApp(
    adapter,
    { imports: [RateLimitModule.forRoot(options)], controllers },
    {
      configure: (app) => {
        document = SwaggerModule.createDocument(app, new DocumentBuilder().build());
      },
    },
  );
  return document!;
}

type Answer = { description?: string; headers?: object; content?: Record<string, object> };

const answersOf = ({ paths }: OpenAPIObject, path: string, verb: 'get' | 'post' = 'get') =>
  paths[path]![verb]!.responses as Record<string, Answer>;

describe.each(adapters)('an OpenAPI document on %s', (adapter) => {
  it('has the 429 of limited handlers, with its headers and body', async () => {
    @Controller()
    class HelloController {
      @Get('limited')
      @RateLimit('5/10s')
      limited(): void {}

      @Get('free')
      free(): void {}
    }
    const document = await documentOf(adapter, [HelloController]);
    expect(Object.keys(answersOf(document, '/free'))).toEqual(['200']);
    expect(answersOf(document, '/limited')).toEqual({
      '200': { description: '' },
      '429': {
        description: 'A rate limit was exceeded.',
        headers: {
          'RateLimit-Policy': { description: expect.any(String), schema: { type: 'string' } },
          RateLimit: { description: expect.any(String), schema: { type: 'string' } },
          'Retry-After': { description: expect.any(String), schema: { type: 'integer' } },
        },
        content: {
          'application/json': {
            schema: {
              type: 'object',
              properties: expect.objectContaining({ plans: expect.anything() }),
              required: ['statusCode', 'message', 'error', 'plans', 'retryAfterMs'],
            },
          },
        },
      },
    });
  });

  it('describes the body that is sent', async () => {
    @Controller()
    class HelloController {
      @Get()
      @RateLimit('0/s')
      limited(): void {}
    }
    for (const problemDetails of [false, true]) {
      const { app } = await startApp(adapter, {
        imports: [RateLimitModule.forRoot({ problemDetails })],
        controllers: [HelloController],
      });
      const document = SwaggerModule.createDocument(app, new DocumentBuilder().build());
      const response = await fetch(await app.getUrl());
      const { content } = answersOf(document, '/')['429']!;
      const [type] = response.headers.get('content-type')!.split(';');
      const { schema } = content![type!] as { schema: { required: string[] } };
      expect(Object.keys((await response.json()) as object).sort()).toEqual(schema.required.sort());
    }
  });

  it('has it for every handler of a class that is limited, but those left out', async () => {
    @Controller()
    @RateLimit('5/10s')
    class HelloController {
      @Get('one')
      one(): void {}

      @Post('two')
      two(): void {}

      @Post('three')
      @HttpCode(202)
      three(): void {}

      @Get('skipped')
      @SkipRateLimit()
      skipped(): void {}
    }
    const document = await documentOf(adapter, [HelloController]);
    expect(Object.keys(answersOf(document, '/one'))).toEqual(['200', '429']);
    expect(Object.keys(answersOf(document, '/two', 'post'))).toEqual(['201', '429']);
    expect(Object.keys(answersOf(document, '/three', 'post'))).toEqual(['202', '429']);
    expect(Object.keys(answersOf(document, '/skipped'))).toEqual(['200']);
  });

  it('has nothing of a class that is left out', async () => {
    @SkipRateLimit()
    @Controller()
    class HelloController {
      @Get()
      @RateLimit('5/10s')
      hello(): void {}
    }
    const document = await documentOf(adapter, [HelloController]);
    expect(Object.keys(answersOf(document, '/'))).toEqual(['200']);
  });

  it('keeps what the user documents, above and below the decorator', async () => {
    @Controller()
    class HelloController {
      @Get('above')
      @ApiOkResponse({ type: Greeting })
      @RateLimit('5/10s')
      above(): void {}

      @Get('below')
      @RateLimit('5/10s')
      @ApiOkResponse({ type: Greeting })
      below(): void {}
    }
    const document = await documentOf(adapter, [HelloController]);
    for (const path of ['/above', '/below']) {
      const { '200': ok, '429': denied } = answersOf(document, path);
      expect(JSON.stringify(ok)).toContain('#/components/schemas/Greeting');
      expect(denied!.description).toBe('A rate limit was exceeded.');
    }
  });

  it('lets the 429 of the user win, on a handler or on its class', async () => {
    const own = () => ApiTooManyRequestsResponse({ description: 'Slow down.' });

    @Controller('handlers')
    class HandlerController {
      @Get('above')
      @own()
      @RateLimit('5/10s')
      above(): void {}

      @Get('below')
      @RateLimit('5/10s')
      @own()
      below(): void {}
    }

    @own()
    @Controller('class')
    class ClassController {
      @Get()
      @RateLimit('5/10s')
      hello(): void {}
    }
    const document = await documentOf(adapter, [HandlerController, ClassController]);
    for (const path of ['/handlers/above', '/handlers/below', '/class']) {
      expect(answersOf(document, path)['429']).toEqual({ description: 'Slow down.' });
    }
  });

  it('keeps what the plugin of swagger found out', async () => {
    @Controller()
    class HelloController {
      // As the plugin writes it.
      static _OPENAPI_METADATA_FACTORY(): object {
        return {
          one: { summary: 'One.', type: Greeting },
          many: { type: [Greeting], status: 203 },
        };
      }

      @Get('one')
      @RateLimit('5/10s')
      one(): void {}

      @Get('many')
      @RateLimit('5/10s')
      many(): void {}
    }
    const document = await documentOf(adapter, [HelloController]);
    const schema = { $ref: '#/components/schemas/Greeting' };
    expect(answersOf(document, '/one')['200']).toEqual({
      description: '',
      content: { 'application/json': { schema } },
    });
    expect(answersOf(document, '/many')['203']).toEqual({
      description: '',
      content: { 'application/json': { schema: { type: 'array', items: schema } } },
    });
    expect(answersOf(document, '/many')).toHaveProperty('429');
  });

  it('tells the headers that are sent, also after another application of the process', async () => {
    @Controller()
    class HelloController {
      @Get()
      @RateLimit('5/10s')
      hello(): void {}
    }
    const headersOf = async (headers: RateLimitOptions['headers'] & {}) => {
      const document = await documentOf(adapter, [HelloController], { headers });
      return Object.keys(answersOf(document, '/')['429']!.headers!);
    };
    expect(await headersOf('draft-11')).toEqual(['RateLimit-Policy', 'RateLimit', 'Retry-After']);
    expect(await headersOf(false)).toEqual(['Retry-After']);
    expect(await headersOf('legacy')).toEqual([
      'X-RateLimit-Limit',
      'X-RateLimit-Remaining',
      'X-RateLimit-Reset',
      'Retry-After',
    ]);
  });
});
