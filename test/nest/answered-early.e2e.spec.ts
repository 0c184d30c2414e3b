import 'reflect-metadata';
import { EventEmitter, once } from 'node:events';
import { afterEach, describe, expect, it } from '@jest/globals';
import { Controller, Get } from '@nestjs/common';
import type { Return } from '../../lib/index.js';
import { MemoryStore, RateLimit, RateLimiter, RateLimitModule } from '../../lib/index.js';
import { FakeClock } from '../support/fake-clock.js';
import { adapters, closeApps, startApp } from '../support/http-app.js';

class CountingStore extends MemoryStore {
  releases = 0;

  override giveBack(returned: Return): boolean {
    if (returned.kind === 'release') this.releases++;
    return super.giveBack(returned);
  }
}

afterEach(closeApps);

describe.each(adapters)('slots on %s', (adapter) => {
  it('are given back when somebody else answered before they were taken', async () => {
    const events = new EventEmitter();

    @Controller()
    class SlotController {
      @Get()
      @RateLimit({
        plan: 'slot',
        key: 'all',
        tokens: async (_request: unknown, context) => {
          // What a timeout does when a look-up takes too long.
          const reply = context.switchToHttp().getResponse<{
            status(code: number): { send(body: string): void };
          }>();
          reply.status(503).send('too slow');
          await once(events, 'answered');
          return 1;
        },
      })
      hello(): string {
        return 'ok';
      }
    }
    const store = new CountingStore(new FakeClock());
    const app = await startApp(adapter, {
      imports: [RateLimitModule.forRoot({ plans: { slot: { maxConcurrent: 1 } }, store })],
      controllers: [SlotController],
    });
    expect((await app.get('/')).status).toBe(503);
    events.emit('answered');
    await new Promise(setImmediate);
    await new Promise(setImmediate);
    expect((await app.provider(RateLimiter).peek('all', 'slot')).remainingTokens).toBe(1);
    expect(store.releases).toBe(1);
  });
});
