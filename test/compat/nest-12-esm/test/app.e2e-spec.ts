import type { INestApplication } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { RateLimitGuard } from 'nestjs-floodgate';
import { AppModule } from './../src/app.module.js';

describe('an application with limits', () => {
  let app: INestApplication;

  afterEach(() => app.close());

  async function visit(times: number): Promise<number[]> {
    await app.listen(0, '127.0.0.1');
    const url = await app.getUrl();
    const statuses: number[] = [];
    for (let i = 0; i < times; i++) statuses.push((await fetch(`${url}/address`)).status);
    return statuses;
  }

  it('is limited in a test as it is in production', async () => {
    const testing = await Test.createTestingModule({ imports: [AppModule] }).compile();
    app = testing.createNestApplication();
    expect(await visit(3)).toEqual([200, 200, 429]);
  });

  it('is not limited when the test switches the guard off', async () => {
    const testing = await Test.createTestingModule({ imports: [AppModule] })
      .overrideGuard(RateLimitGuard)
      .useValue({ canActivate: () => true })
      .compile();
    app = testing.createNestApplication();
    expect(await visit(3)).toEqual([200, 200, 200]);
  });
});
