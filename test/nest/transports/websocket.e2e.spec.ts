import 'reflect-metadata';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { AddressInfo, Server } from 'node:net';
import type { CanActivate, ExecutionContext, Type } from '@nestjs/common';
import { UseGuards } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { IoAdapter } from '@nestjs/platform-socket.io';
import { WsAdapter } from '@nestjs/platform-ws';
import { SubscribeMessage, WebSocketGateway, WsException } from '@nestjs/websockets';
import type {
  ChainOptions,
  MessageRequest,
  PlanLinks,
  RateLimitOptions,
  Return,
} from '../../../lib/index.js';
import {
  MemoryStore,
  RateLimit,
  RateLimiter,
  RateLimitModule,
  SkipRateLimit,
} from '../../../lib/index.js';
import { FakeClock } from '../../support/fake-clock.js';
import type { ConnectOptions, GatewayClient } from '../../support/gateway-clients.js';
import { closeClients, connectSocketIo, connectWs } from '../../support/gateway-clients.js';
import type { HttpApp } from '../../support/http-app.js';
import { closeApps, startApp } from '../../support/http-app.js';
import { freePort, until } from '../../support/redis-servers.js';

const PLANS = {
  two: { capacity: 2, tokensPerSecond: 0.1 },
  five: { capacity: 5, tokensPerSecond: 0.1 },
  closed: { capacity: 0, tokensPerSecond: 1 },
  sockets: { maxConcurrent: 2 },
  one: { maxConcurrent: 1 },
};

const ADAPTERS = [
  ['socket.io', IoAdapter, connectSocketIo],
  ['ws', WsAdapter, connectWs],
] as const;

/** Lets in whoever says who he is, and leaves it where the application would. */
class Authentication implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const client = context.switchToWs().getClient<{ user?: unknown }>();
    const { user } = context.switchToWs().getData<{ user?: string }>() ?? {};
    if (user === undefined) throw new WsException('Who are you?');
    client.user = { id: user };
    return true;
  }
}

/** A gateway with one limited message. */
function limited(options: PlanLinks | ChainOptions, guards: Type<CanActivate>[] = []): Type {
  @WebSocketGateway()
  class ChatGateway {
    @SubscribeMessage('say')
    @UseGuards(...guards)
    @RateLimit(options)
    say(): { event: string; data: string } {
      return { event: 'said', data: 'ok' };
    }
  }
  return ChatGateway;
}

/** A gateway that takes down who comes and goes. */
function meeting(options: PlanLinks | ChainOptions): { gateway: Type; came: number; left: number } {
  const visits = { came: 0, left: 0 };
  @WebSocketGateway()
  class MeetingGateway {
    @RateLimit(options)
    handleConnection(): void {
      visits.came++;
    }

    handleDisconnect(): void {
      visits.left++;
    }

    @SubscribeMessage('say')
    say(): { event: string; data: string } {
      return { event: 'said', data: 'ok' };
    }
  }
  return Object.assign(visits, { gateway: MeetingGateway });
}

/** Counts how often slots come back. */
class CountingStore extends MemoryStore {
  releases = 0;

  override giveBack(returned: Return): boolean {
    if (returned.kind === 'release') this.releases++;
    return super.giveBack(returned);
  }
}

function openSockets({ app }: HttpApp): Promise<number> {
  const server = app.getHttpServer() as Server;
  return new Promise((resolve, reject) => {
    server.getConnections((error, count) => (error ? reject(error) : resolve(count)));
  });
}

const SAID = ['said', 'ok'];

let clock: FakeClock;

beforeEach(() => {
  clock = new FakeClock();
});

afterEach(async () => {
  await closeClients();
  await closeApps();
});

describe('a gateway of ws on a port of its own', () => {
  it('knows the headers of a client whose connection it limits', async () => {
    const port = await freePort();
    @WebSocketGateway(port)
    class OwnGateway {
      @RateLimit('sockets')
      handleConnection(): void {}

      @SubscribeMessage('say')
      @RateLimit({ plan: 'two', key: 'header:x-api-key', onMissingKey: 'deny' })
      say(): { event: string; data: string } {
        return { event: 'said', data: 'ok' };
      }
    }
    await startApp(
      'express',
      { imports: [RateLimitModule.forRoot({ plans: PLANS, clock })], providers: [OwnGateway] },
      { configure: (app) => app.useWebSocketAdapter(new WsAdapter(app)) },
    );
    const client = await connectWs(port, { headers: { 'x-api-key': 'ada' } });
    expect(await client.ask('say')).toEqual(SAID);
  });
});

describe.each(ADAPTERS)('gateways by %s', (name, SocketAdapter, connectTo) => {
  function start(gateway: Type, options: RateLimitOptions = {}): Promise<HttpApp> {
    return startApp(
      'express',
      {
        imports: [RateLimitModule.forRoot({ plans: PLANS, clock, ...options })],
        providers: [gateway],
      },
      { configure: (app) => app.useWebSocketAdapter(new SocketAdapter(app)) },
    );
  }

  function connect({ app }: HttpApp, options?: ConnectOptions): Promise<GatewayClient> {
    const { port } = (app.getHttpServer() as { address(): AddressInfo }).address();
    return connectTo(port, options);
  }

  async function left(app: HttpApp, key: string, plan: string): Promise<number> {
    return (await app.provider(RateLimiter).peek(key, plan)).remainingTokens;
  }

  describe('a message', () => {
    it('is charged once, although a global guard and one of the handler see it', async () => {
      const app = await start(limited('five'));
      const client = await connect(app);
      expect(await client.ask('say')).toEqual(SAID);
      expect(await left(app, 'ip:127.0.0.1', 'five')).toBe(4);
      expect(await client.ask('say')).toEqual(SAID);
      expect(await left(app, 'ip:127.0.0.1', 'five')).toBe(3);
    });

    it('that is too many is answered with the plan and the wait, and the next is served', async () => {
      const app = await start(limited('two'));
      const client = await connect(app);
      await client.ask('say');
      await client.ask('say');
      expect(await client.ask('say')).toEqual([
        'exception',
        {
          status: 'error',
          code: 'RATE_LIMITED',
          message: 'Rate limit exceeded. Retry in 10 s.',
          plans: ['two'],
          retryAfterMs: 10_000,
        },
      ]);
      clock.advanceMs(10_000);
      expect(await client.ask('say')).toEqual(SAID);
    });

    it('is refused for ever by a plan of 0', async () => {
      const app = await start(limited('closed'));
      const client = await connect(app);
      expect(await client.ask('say')).toEqual([
        'exception',
        expect.objectContaining({ code: 'RATE_LIMITED', plans: ['closed'], retryAfterMs: null }),
      ]);
    });

    it('counts for the address of its client', async () => {
      const app = await start(limited('two'));
      const [one, other] = [await connect(app), await connect(app, { from: '127.0.0.2' })];
      await one.ask('say');
      expect(await left(app, 'ip:127.0.0.1', 'two')).toBe(1);
      expect(await left(app, 'ip:127.0.0.2', 'two')).toBe(2);
      await other.ask('say');
      expect(await left(app, 'ip:127.0.0.2', 'two')).toBe(1);
    });

    it('counts for a header of the handshake', async () => {
      const app = await start(limited({ plan: 'two', key: 'header:x-api-key' }));
      const ada = await connect(app, { headers: { 'x-api-key': 'ada' } });
      const bob = await connect(app, { headers: { 'x-api-key': 'bob' } });
      await ada.ask('say');
      await ada.ask('say');
      expect(await ada.ask('say')).toEqual(['exception', expect.anything()]);
      expect(await bob.ask('say')).toEqual(SAID);
    });

    it('counts for whom a guard has recognised', async () => {
      const app = await start(limited({ plan: 'two', key: 'principal' }, [Authentication]));
      const client = await connect(app);
      await client.ask('say', { user: 'ada' });
      await client.ask('say', { user: 'ada' });
      expect(await client.ask('say', { user: 'ada' })).toEqual(['exception', expect.anything()]);
      expect(await client.ask('say', { user: 'bob' })).toEqual(SAID);
      expect(await left(app, 'principal:ada', 'two')).toBe(0);
      expect(await left(app, 'principal:bob', 'two')).toBe(1);
    });

    it('is not believed what it says of who sends it', async () => {
      const app = await start(limited({ plan: 'two', key: ['principal', 'header:x-id', 'ip'] }));
      const client = await connect(app, { auth: { user: { id: 'ada' } } });
      const lie = { user: { id: 'ada' }, headers: { 'x-id': 'ada' }, ip: '10.0.0.1' };
      await client.ask('say', lie);
      expect(await left(app, 'ip:127.0.0.1', 'two')).toBe(1);
    });

    it('counts and costs what functions of it say', async () => {
      interface Said extends MessageRequest {
        readonly data: { readonly room: string; readonly words: number };
      }
      const room = ({ data }: Said) => data.room;
      const words = ({ data }: Said) => data.words;
      const app = await start(limited({ plan: 'five', key: room, tokens: words }));
      const client = await connect(app);
      await client.ask('say', { room: 'kitchen', words: 3 });
      expect(await left(app, 'function.room:kitchen', 'five')).toBe(2);
    });

    it('is counted although a guard refuses it, where the limit stands below that guard', async () => {
      @WebSocketGateway()
      @UseGuards(Authentication)
      @RateLimit('two')
      class DoorGateway {
        @SubscribeMessage('say')
        say(): { event: string; data: string } {
          return { event: 'said', data: 'ok' };
        }
      }
      const app = await start(DoorGateway);
      const client = await connect(app);
      expect(await client.ask('say')).toEqual([
        'exception',
        expect.objectContaining({ message: 'Who are you?' }),
      ]);
      expect(await left(app, 'ip:127.0.0.1', 'two')).toBe(1);
    });

    it('is counted although a global guard refuses it', async () => {
      const app = await startApp(
        'express',
        {
          imports: [RateLimitModule.forRoot({ plans: PLANS, clock })],
          providers: [limited('two'), { provide: APP_GUARD, useClass: Authentication }],
        },
        { configure: (nest) => nest.useWebSocketAdapter(new SocketAdapter(nest)) },
      );
      const client = await connect(app);
      await client.ask('say');
      expect(await left(app, 'ip:127.0.0.1', 'two')).toBe(1);
    });

    it('is refused without a key where that is asked for', async () => {
      const chain = { plan: 'two', key: 'principal', onMissingKey: 'deny' } as const;
      const app = await start(limited(chain));
      const client = await connect(app);
      expect(await client.ask('say')).toEqual([
        'exception',
        {
          status: 'error',
          code: 'MISSING_KEY',
          message: 'This request does not tell who makes it.',
        },
      ]);
    });

    it('holds a slot until its handler has answered', async () => {
      const answers: ((text: string) => void)[] = [];
      @WebSocketGateway()
      class SlowGateway {
        @SubscribeMessage('say')
        @RateLimit({ plan: 'one', phase: 'interceptor' })
        async say(): Promise<{ event: string; data: string }> {
          const data = await new Promise<string>((resolve) => answers.push(resolve));
          return { event: 'said', data };
        }
      }
      const app = await start(SlowGateway);
      const client = await connect(app);
      client.send('say');
      await until('the handler', () => Promise.resolve(answers.length === 1));
      expect(await client.ask('say')).toEqual(['exception', expect.anything()]);
      answers[0]!('ok');
      expect(await client.next()).toEqual(SAID);
      expect(await left(app, 'ip:127.0.0.1', 'one')).toBe(1);
      client.send('say');
      await until('the handler', () => Promise.resolve(answers.length === 2));
      answers[1]!('ok');
      expect(await client.next()).toEqual(SAID);
    });

    it('is limited by the class of its handler, and left alone where that is skipped', async () => {
      @WebSocketGateway()
      @RateLimit('two')
      class RoomGateway {
        @SubscribeMessage('say')
        say(): { event: string; data: string } {
          return { event: 'said', data: 'ok' };
        }

        @SubscribeMessage('ping')
        @SkipRateLimit()
        ping(): { event: string; data: string } {
          return { event: 'said', data: 'ok' };
        }
      }
      const app = await start(RoomGateway);
      const client = await connect(app);
      await client.ask('say');
      await client.ask('ping');
      expect(await left(app, 'ip:127.0.0.1', 'two')).toBe(1);
    });
  });

  describe('a connection', () => {
    it('holds a slot until the client is gone', async () => {
      const { gateway, ...rest } = meeting('sockets');
      expect(rest).toEqual({ came: 0, left: 0 });
      const app = await start(gateway);
      const first = await connect(app);
      await connect(app);
      await until('both', async () => (await left(app, 'ip:127.0.0.1', 'sockets')) === 0);
      first.close();
      await until('one', async () => (await left(app, 'ip:127.0.0.1', 'sockets')) === 1);
      const third = await connect(app);
      expect(await third.ask('say')).toEqual(SAID);
    });

    it('that is too many is told why and closed, and the gateway never hears of it', async () => {
      const visits = meeting('one');
      const app = await start(visits.gateway);
      const first = await connect(app);
      await first.ask('say');
      const second = await connect(app);
      expect(await second.next()).toEqual([
        'exception',
        {
          status: 'error',
          code: 'RATE_LIMITED',
          message: expect.stringMatching(/^Rate limit exceeded\. Retry in \d+ s\.$/),
          plans: ['one'],
          retryAfterMs: expect.any(Number),
        },
      ]);
      const closing = await second.closed;
      expect(closing).toEqual(
        name === 'ws'
          ? [1013, expect.stringContaining('Rate limit exceeded')]
          : 'io server disconnect',
      );
      first.close();
      await until('the end', () => Promise.resolve(visits.left === 1));
      expect(visits).toMatchObject({ came: 1, left: 1 });
      expect(await left(app, 'ip:127.0.0.1', 'one')).toBe(1);
    });

    it('gives its slot back once, however often it is heard that the client is gone', async () => {
      const { gateway } = meeting('sockets');
      const store = new CountingStore(clock);
      const app = await start(gateway, { store });
      const [first, second] = [await connect(app), await connect(app)];
      await until('both', async () => (await left(app, 'ip:127.0.0.1', 'sockets')) === 0);
      // By socket.io a client may send events of almost any name.
      first.send('close');
      await first.ask('say');
      expect(await left(app, 'ip:127.0.0.1', 'sockets')).toBe(0);
      second.close();
      await second.closed;
      await until('one', async () => (await left(app, 'ip:127.0.0.1', 'sockets')) > 0);
      expect(await left(app, 'ip:127.0.0.1', 'sockets')).toBe(1);
      await closeApps();
      expect(store.releases).toBe(2);
    });

    it('counts for the address, a header or whatever a function of the handshake says', async () => {
      const tenant = ({ headers }: MessageRequest) => headers?.['x-tenant'];
      const { gateway } = meeting({
        plan: [
          { plan: 'sockets', key: 'ip' },
          { plan: 'one', key: tenant },
        ],
      });
      const app = await start(gateway);
      const ada = await connect(app, { headers: { 'x-tenant': 'ada' } });
      const bob = await connect(app, { headers: { 'x-tenant': 'bob' } });
      expect([await ada.ask('say'), await bob.ask('say')]).toEqual([SAID, SAID]);
      expect(await left(app, 'function.tenant:ada', 'one')).toBe(0);
      const again = await connect(app, { from: '127.0.0.2', headers: { 'x-tenant': 'ada' } });
      expect(await again.next()).toEqual([
        'exception',
        expect.objectContaining({ plans: ['one'] }),
      ]);
      expect(await left(app, 'ip:127.0.0.2', 'sockets')).toBe(2);
    });

    it('gives the slot back that is lent when the client has left meanwhile', async () => {
      const asked: (() => void)[] = [];
      const waiting = () => new Promise<string>((resolve) => asked.push(() => resolve('ada')));
      const visits = meeting({ plan: 'one', key: waiting });
      const store = new CountingStore(clock);
      const app = await start(visits.gateway, { store });
      const client = await connect(app);
      await until('the decision', () => Promise.resolve(asked.length === 1));
      client.close();
      await client.closed;
      await until('the server', async () => (await openSockets(app)) === 0);
      asked[0]!();
      await until('the release', () => Promise.resolve(store.releases === 1));
      expect(await left(app, 'function.waiting:ada', 'one')).toBe(1);
      expect(visits).toMatchObject({ came: 0, left: 0 });
    });

    it('may be limited by rate', async () => {
      const { gateway } = meeting('two');
      const app = await start(gateway);
      for (let i = 0; i < 2; i++) (await connect(app)).close();
      const third = await connect(app);
      expect(await third.next()).toEqual([
        'exception',
        expect.objectContaining({ plans: ['two'], retryAfterMs: 10_000 }),
      ]);
      await third.closed;
    });

    it('is closed when it cannot be decided, and the application goes on', async () => {
      const broken = () => {
        throw new Error('no such tenant');
      };
      const app = await start(meeting({ plan: 'two', key: broken }).gateway);
      const client = await connect(app);
      expect(await client.next()).toEqual([
        'exception',
        { status: 'error', message: 'Internal server error' },
      ]);
      await client.closed;
      expect(app.logs.errors).toEqual(['A connection could not be decided: no such tenant']);
    });
  });

  it('are named in the start-up log', async () => {
    const app = await start(meeting('sockets').gateway);
    expect(app.logs.infos).toContain('Limits cover 1 WebSocket gateway.');
  });

  it('do not start with slots that nobody would give back', async () => {
    await expect(start(limited('sockets'))).rejects.toThrow(
      '@RateLimit on ChatGateway.say: plan "sockets" lends slots, and only the interceptor sees ' +
        "where a message ends. Write phase: 'interceptor'.",
    );
  });
});
