import 'reflect-metadata';
import { afterEach, describe, expect, it } from '@jest/globals';
import { Controller, Get } from '@nestjs/common';
import { MemoryStore, RateLimit, RateLimitModule } from '../../lib/index.js';
import { FakeClock } from '../support/fake-clock.js';
import { adapters, closeApps, startApp } from '../support/http-app.js';

/** A store across a network that is away when slots are to be given back. */
class BrokenStore extends MemoryStore {
  override giveBack(): boolean {
    return Promise.reject(new Error('store away')) as unknown as boolean;
  }
}

@Controller()
class SlotController {
  @Get()
  @RateLimit('slot')
  hello(): string {
    return 'ok';
  }
}

afterEach(closeApps);

describe.each(adapters)('slots on %s', (adapter) => {
  it('that cannot be given back end nothing but their lease', async () => {
    const app = await startApp(adapter, {
      imports: [
        RateLimitModule.forRoot({
          plans: { slot: { maxConcurrent: 2 } },
          store: new BrokenStore(new FakeClock()),
        }),
      ],
      controllers: [SlotController],
    });
    // Any promise that nobody handles fails the test, as it would end the process.
    expect(await app.statuses(1, '/')).toEqual([200]);
    await new Promise(setImmediate);
    expect(app.logs.warnings.join()).toContain('store away');
  });
});
