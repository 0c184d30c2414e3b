import { describe, expect, it } from '@jest/globals';
import type { BlockType } from '../../lib/outbound/block-type.js';
import { BLOCK_TYPES, triggersCooldown } from '../../lib/outbound/block-type.js';

describe('block types', () => {
  const table: Record<BlockType, boolean> = {
    cloudflare_challenge: true,
    captcha: true,
    '403_forbidden': true,
    '429_rate_limited': true,
    blank_page: true,
    connection_error: false,
    timeout: false,
  };

  it.each(Object.entries(table))('%s triggers a cooldown: %s', (type, triggers) => {
    expect(triggersCooldown(type)).toBe(triggers);
  });

  it('are seven, in a list that nobody can change', () => {
    expect(BLOCK_TYPES).toEqual(Object.keys(table));
    expect(Object.isFrozen(BLOCK_TYPES)).toBe(true);
  });

  it.each(['soft_ban', 'login_wall', '', 'Timeout', 'constructor', '__proto__', 'toString'])(
    'a type of the user (%j) triggers a cooldown',
    (type) => {
      expect(triggersCooldown(type)).toBe(true);
    },
  );
});
