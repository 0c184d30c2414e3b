import { SCRIPT_HASH, STYLE_HASH } from './page.js';

/** The page runs and looks like what was built, loads nothing, and talks to its own origin alone. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  `script-src '${SCRIPT_HASH}'`,
  `style-src '${STYLE_HASH}'`,
  "connect-src 'self'",
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'self'",
  // Nothing can become markup, whatever keys and names contain.
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

const COMMON_HEADERS = {
  'Cache-Control': 'no-store',
  'X-Robots-Tag': 'noindex, nofollow',
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
};

/** Headers of the page; those that helmet set under the same names are replaced. */
export const PAGE_HEADERS: Readonly<Record<string, string>> = Object.freeze({
  ...COMMON_HEADERS,
  'Content-Type': 'text/html; charset=utf-8',
  'Content-Security-Policy': CONTENT_SECURITY_POLICY,
});

/** Headers of its data. */
export const DATA_HEADERS: Readonly<Record<string, string>> = Object.freeze({
  ...COMMON_HEADERS,
  'Content-Type': 'application/json; charset=utf-8',
});
