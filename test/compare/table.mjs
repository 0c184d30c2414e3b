// The rows of the comparison. A cell is what a check finds with the package itself; what is plain
// text was read in its documentation, and a row that has such cells is marked.
import { chain } from './checks/chain.mjs';
import { memory } from './checks/memory.mjs';
import { names } from './checks/names.mjs';
import { dependencies, manifestOf, stores } from './checks/packages.mjs';
import { hanging, roundTrips } from './checks/redis.mjs';
import { retryAfter } from './checks/retry-after.mjs';
import { window } from './checks/window.mjs';
import { PRODUCTS } from './products.mjs';

const YOURS = 'yours to write';
const READ = ' †';

const ROWS = [
  ['a request that one limit denies is charged by none', chain],
  ['scripts that Redis runs to decide two limits', roundTrips],
  ['while Redis hangs, a request (default options)', hanging],
  ['a bound on what is remembered in the process', memory],
  // The timers of bottleneck do not go by a clock that could be moved.
  ['most that pass in 10 s under a limit of 10 in 10 s', { ...window, bottleneck: '–' }],
  [
    '`Retry-After` when one of several limits denies',
    { ...retryAfter, flexible: YOURS, bottleneck: YOURS },
  ],
  ['a limit that is misspelt on a route', { ...names, flexible: '–', bottleneck: '–' }],
  // ThrottlerStorage.increment() has no cost; consume(key, points); `weight` of a job.
  read('requests that cost more than one', ['yes', 'no', 'yes', 'yes']),
  // `maxConcurrent` of bottleneck; the others count requests as they come.
  read('limits on concurrency', ['yes, leases that expire', 'no', 'no', 'yes']),
  // RateLimiterQueue is a FIFO in the process; bottleneck: "in the order they were received on the same limiter".
  read('waiting for a turn, in order', [
    'across processes',
    'no',
    'in each process',
    'in each process',
  ]),
  // removeTokens(tokens, key, expiresUnixAt); no job of bottleneck can be taken back.
  read('giving up a wait (`AbortSignal`)', ['yes', '–', 'no', 'no']),
  // "A priority between 0 and 9", local to a limiter.
  read('priorities of those who wait', ['no', '–', 'no', 'yes']),
  // Its README, "Websockets" and "GraphQL", extends ThrottlerGuard for each.
  read('GraphQL, WebSockets, microservices', [
    'yes',
    'the first two, by subclassing its guard',
    YOURS,
    YOURS,
  ]),
  // `limit` and `ttl` may be functions; `points` of a limiter can be assigned; updateSettings().
  read('limits that change while running', ['yes', 'by functions', 'by hand', 'yes']),
  read('without Nest', ['no', 'no', 'yes', 'yes']),
  [
    `stores${READ}`,
    {
      ...stores,
      floodgate: 'memory, Redis',
      throttler: 'memory, others by packages',
      bottleneck: 'memory, Redis',
    },
  ],
  ['runtime dependencies', dependencies],
];

function read(claim, [floodgate, throttler, flexible, bottleneck]) {
  return [claim + READ, { floodgate, throttler, flexible, bottleneck }];
}

/** Runs all checks. Returns rows for a table, the first column being the claim. */
export async function compare() {
  const table = [];
  for (const [claim, cells] of ROWS) {
    const row = { '': claim };
    for (const product of Object.keys(PRODUCTS)) row[headOf(product)] = await found(cells[product]);
    table.push(row);
  }
  return table;
}

const found = (cell) => (typeof cell === 'function' ? cell() : cell);

function headOf(product) {
  const { version } = manifestOf(product);
  return product === 'floodgate' ? PRODUCTS[product] : `${PRODUCTS[product]} ${version}`;
}
