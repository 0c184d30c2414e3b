import { InvalidOptionError } from '../core/errors.js';

/** The domain that a call goes to. */
export function domainOf(url: string | URL): string {
  const { hostname } = parsed(url);
  if (hostname !== '') return hostname;
  throw invalidUrl(url);
}

function parsed(url: string | URL): URL {
  try {
    return new URL(url);
  } catch {
    throw invalidUrl(url);
  }
}

function invalidUrl(url: unknown): InvalidOptionError {
  const expected = 'a whole URL, such as "https://api.example.com/items"';
  return new InvalidOptionError('url', expected, shown(url));
}

/** Without what could be a password or a token. */
function shown(url: unknown): unknown {
  const text = url instanceof URL ? url.href : url;
  if (typeof text !== 'string') return typeof text === 'object' && text ? 'an object' : text;
  return text.includes('@') ? 'a text with an "@"' : text.replace(/[?#].*$/s, '...');
}
