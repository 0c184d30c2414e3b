/** Which blocks mean that the other side pushed back; the others are the network's doing. */
const TRIGGERS_COOLDOWN = {
  cloudflare_challenge: true,
  captcha: true,
  '403_forbidden': true,
  '429_rate_limited': true,
  blank_page: true,
  connection_error: false,
  timeout: false,
} as const;

/** How a request was turned away, or got lost on its way. */
export type BlockType = keyof typeof TRIGGERS_COOLDOWN;

/** All built-in block types. */
export const BLOCK_TYPES = Object.freeze(Object.keys(TRIGGERS_COOLDOWN)) as readonly BlockType[];

/**
 * Tells whether a block counts towards a cooldown. A type of your own does: somebody took the
 * trouble to recognise it.
 */
export function triggersCooldown(type: string): boolean {
  return isBlockType(type) ? TRIGGERS_COOLDOWN[type] : true;
}

function isBlockType(type: string): type is BlockType {
  return Object.hasOwn(TRIGGERS_COOLDOWN, type);
}
