// What the packages say of themselves.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { flexible, PRODUCTS } from '../products.mjs';

const ROOT = join(import.meta.dirname, '..', '..', '..');
const PEERS = join(ROOT, 'test', 'bench', 'peers', 'node_modules');

export function manifestOf(product) {
  const folder = product === 'floodgate' ? ROOT : join(PEERS, PRODUCTS[product]);
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
}

export const dependencies = Object.fromEntries(
  Object.keys(PRODUCTS).map((product) => [
    product,
    () => String(Object.keys(manifestOf(product).dependencies ?? {}).length),
  ]),
);

/** What rate-limiter-flexible exports besides limiters on stores other than memory and Redis. */
const NO_OTHER_STORE =
  /NonAtomic|Memory|Cluster|Union|Queue|Compatible|Transaction|Glide|Res$|Redis$|^RLW|^Bursty/;

export const stores = {
  flexible() {
    const found = Object.keys(flexible).filter((name) => !NO_OTHER_STORE.test(name));
    return `memory, Redis and ${found.length} more`;
  },
};
