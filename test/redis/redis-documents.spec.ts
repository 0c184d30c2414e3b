import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { RedisStore } from '../../lib/redis/redis-store.js';
import { serversOf } from '../../lib/redis/servers-of.js';
import { sharedRedis, until } from '../support/redis-servers.js';

const keyPrefix = `documents-${randomUUID()}`;
const KEY = `${keyPrefix}:_notice:{gateway}`;
let client: Redis;
let store: RedisStore;

beforeAll(() => {
  client = new Redis(sharedRedis.url);
  store = new RedisStore(serversOf(new Redis(sharedRedis.url)), { keyPrefix });
});

afterAll(() => {
  store.close();
  client.disconnect();
});

it('keeps documents where earlier versions keep them, for a month after the last read', async () => {
  const { documents } = store;
  expect(await documents.readDocument('gateway')).toMatchObject({ version: 0, text: '' });
  expect(await documents.replaceDocument('gateway', 0, 'one')).toMatchObject({ replaced: true });
  expect(await client.hgetall(KEY)).toEqual({ n: '1', text: 'one' });
  expect(await documents.replaceDocument('gateway', 0, 'two')).toEqual({
    ...{ replaced: false, version: 1, text: 'one' },
  });
  await client.pexpire(KEY, 1_000_000);
  await documents.readDocument('gateway');
  expect(await client.pttl(KEY)).toBeGreaterThan(29 * 86_400_000);
});

it('publishes changes of a document to those who watch it, in the words of earlier versions', async () => {
  const heard: string[] = [];
  const unwatch = store.documents.watchDocument('plans', () => heard.push('plans'));
  await until('the subscription', () => Promise.resolve(heard.length === 1));
  await client.publish(`${keyPrefix}:notices:0`, '2 gateway');
  await client.publish(`${keyPrefix}:notices:0`, '2 plans');
  await until('the message', () => Promise.resolve(heard.length === 2));
  unwatch();
  expect(heard).toEqual(['plans', 'plans']);
});
