import { EventEmitter } from 'node:events';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { RedisClient } from '../../lib/redis/redis-servers.js';
import { Subscriptions } from '../../lib/redis/subscriptions.js';

const ECHO = 'echo';

/** A connection that listens, as far as listening needs it. */
class FakeClient extends EventEmitter {
  /** Spares it the watch over the handshake of a socket. */
  readonly isCluster = true;
  readonly subscribed: string[] = [];
  isOver = false;

  subscribe(channel: string): Promise<void> {
    this.subscribed.push(channel);
    return Promise.resolve();
  }

  disconnect(): void {
    this.isOver = true;
  }
}

describe('listening on one connection', () => {
  let clients: FakeClient[];
  let published: string[];
  let publish: (channel: string) => Promise<unknown>;
  let subscriptions: Subscriptions;

  beforeEach(() => {
    jest.useFakeTimers();
    clients = [];
    published = [];
    publish = (channel) => {
      published.push(channel);
      clients.at(-1)!.emit('message', channel, '');
      return Promise.resolve();
    };
    const connect = () => {
      clients.push(new FakeClient());
      return clients.at(-1) as unknown as RedisClient;
    };
    subscriptions = new Subscriptions(connect, (channel) => publish(channel), ECHO);
  });

  afterEach(() => {
    subscriptions.close();
    jest.useRealTimers();
  });

  async function becomeReady() {
    clients.at(-1)!.emit('ready');
    await jest.advanceTimersByTimeAsync(0);
  }

  it('opens one connection for all, and ends it with the last of them', async () => {
    const first = subscriptions.listen('news', () => undefined);
    const second = subscriptions.listen('other', () => undefined);
    await becomeReady();
    expect(clients[0]!.subscribed).toEqual(expect.arrayContaining([ECHO, 'news', 'other']));
    first.close();
    expect([clients.length, clients[0]!.isOver]).toEqual([1, false]);
    second.close();
    expect([clients[0]!.isOver, jest.getTimerCount()]).toEqual([true, 0]);
    subscriptions.listen('news', () => undefined);
    expect(clients).toHaveLength(2);
  });

  it('knows whether it would hear, and how often it would not have', async () => {
    let timesLive = 0;
    const subscription = subscriptions.listen(
      'news',
      () => undefined,
      () => timesLive++,
    );
    const seen = () => [subscription.isLive, subscription.gaps, timesLive];
    expect(seen()).toEqual([false, 0, 0]);
    await becomeReady();
    expect(seen()).toEqual([true, 0, 1]);
    clients[0]!.emit('close');
    expect(seen()).toEqual([false, 1, 1]);
    await becomeReady();
    expect(seen()).toEqual([true, 1, 2]);
  });

  it('hands each message to those who listen on its channel, whatever one of them throws', async () => {
    const heard: string[] = [];
    subscriptions.listen('news', () => {
      throw new Error('of a listener');
    });
    const closed = subscriptions.listen('news', (text) => heard.push(`closed ${text}`));
    subscriptions.listen('news', (text) => heard.push(text));
    await becomeReady();
    closed.close();
    clients[0]!.emit('message', 'news', 'one');
    clients[0]!.emit('message', 'other', 'two');
    expect(heard).toEqual(['one']);
  });

  it('tells itself something every second, and stays as long as it hears that', async () => {
    const subscription = subscriptions.listen('news', () => undefined);
    await becomeReady();
    await jest.advanceTimersByTimeAsync(5_000);
    expect(published).toEqual(Array(5).fill(ECHO));
    expect([clients.length, subscription.gaps]).toEqual([1, 0]);
  });

  it('opens the connection anew when it has gone deaf', async () => {
    const subscription = subscriptions.listen('news', () => undefined);
    await becomeReady();
    publish = () => Promise.resolve();
    await jest.advanceTimersByTimeAsync(1_000);
    expect(clients).toHaveLength(1);
    await jest.advanceTimersByTimeAsync(1_100);
    expect(clients.map(({ isOver }) => isOver)).toEqual([true, false]);
    expect([subscription.isLive, subscription.gaps]).toEqual([false, 1]);
    await becomeReady();
    expect(subscription.isLive).toBe(true);
  });

  it('takes no silence for deafness while nothing can be sent', async () => {
    subscriptions.listen('news', () => undefined);
    await becomeReady();
    publish = () => Promise.reject(new Error('not connected'));
    await jest.advanceTimersByTimeAsync(5_000);
    expect(clients).toHaveLength(1);
  });
});
