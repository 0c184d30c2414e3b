import { describe, expect, it } from '@jest/globals';
import type { AbstractHttpAdapter } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { trustedProxies } from '../../lib/nest/trusted-proxies.js';

const SETTINGS = [true, false, 1, 'loopback', ['10.0.0.0/8']];

describe('the proxies that are trusted', () => {
  it.each(SETTINGS)('are told by Express: %j', (setting) => {
    const adapter = new ExpressAdapter();
    adapter.set('trust proxy', setting);
    expect(trustedProxies(adapter)).toEqual(setting);
  });

  it.each(SETTINGS)('are told by Fastify: %j', (setting) => {
    expect(trustedProxies(new FastifyAdapter({ trustProxy: setting as boolean }))).toEqual(setting);
  });

  it('are none where nothing was said', () => {
    expect(trustedProxies(new ExpressAdapter())).toBe(false);
    expect(trustedProxies(new FastifyAdapter())).toBe(false);
  });

  it.each(['fastify', 'other'])('are unknown where the platform does not tell: %s', (type) => {
    const adapter = { getType: () => type, getInstance: () => ({}) };
    expect(trustedProxies(adapter as unknown as AbstractHttpAdapter)).toBeUndefined();
  });
});
