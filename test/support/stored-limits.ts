import type { Redis } from 'ioredis';
import fc from 'fast-check';

/** The same for all, and longer than any test takes. */
const EXPIRES_MS = Date.now() + 3_600_000;

/** A number as a hash may hold it: as the scripts write it, or not. */
interface Bytes {
  /** What is packed: a double, a time relative to the present, or the bytes as they are. */
  readonly kind: 'double' | 'sinceNow' | 'raw';
  readonly value: number | string;
}

/** What a key holds before a test begins. */
export type StoredLimit =
  | { readonly type: 'nothing' }
  | { readonly type: 'string' }
  | { readonly type: 'set' }
  | { readonly type: 'hash'; readonly fields: readonly (readonly [string, readonly Bytes[]])[] };

const double = (value: number): Bytes => ({ kind: 'double', value });
const sinceNow = (value: number): Bytes => ({ kind: 'sinceNow', value });
const raw = (value: string): Bytes => ({ kind: 'raw', value });

const tokens = fc.oneof(
  fc.double({ min: -20, max: 50, noNaN: true }),
  fc.integer({ min: -5, max: 1_200 }),
  fc.constantFrom(0, -0, 3, 2.999_999_999_5, -1e-10, -1e14, 1e15),
);
const microseconds = fc.oneof(
  fc.constantFrom(0, -1, 1, 100_000, 100_001),
  fc.integer({ min: -5_000_000, max: 300_000 }),
  fc.integer({ min: -200_000_000_000, max: 20_000_000 }),
);
const corrupt = fc.constantFrom(
  raw(''),
  raw('7'),
  raw('1.5'),
  raw('seven b'),
  raw('nine byte'),
  double(Number.NaN),
  double(Number.POSITIVE_INFINITY),
  double(1e16),
);
const lifeUs = fc.integer({ min: -1_000_000, max: 200_000_000_000 });

/** Now and then, what is not expected. */
const mostly = <T>(usual: fc.Arbitrary<T>, unusual: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 9, arbitrary: usual }, { weight: 1, arbitrary: unusual });

const armed = fc
  .tuple(lifeUs, lifeUs)
  .map(([expiresUs, lastsUs]) => [sinceNow(expiresUs), double(Math.abs(lastsUs))]);
/** Beside a count of a window: see "What is stored" in lib/redis/README.md. */
const armedTwice = fc
  .tuple(armed, lifeUs, fc.integer({ min: 1, max: 9 }), microseconds)
  .map(([x, lastsUs, count, sinceUs]) => [
    ...x,
    double(1.7e-6),
    double(1_800_000_000_000_003 + lastsUs),
    double(4_000_000),
    double(1_800_000_000_000_003 + sinceUs),
    double(count),
    double(count / 2),
  ]);
const ofWindow = fc
  .integer({ min: 1, max: 60 })
  .map((seconds) => [raw('\u0002'), double(seconds * 1_000_000), double(10)]);

const bucket = fc
  .record(
    {
      t: mostly(
        tokens.map((value) => [double(value)]),
        corrupt.map((bytes) => [bytes]),
      ),
      ts: mostly(
        microseconds.map((us) => [sinceNow(us)]),
        corrupt.map((bytes) => [bytes]),
      ),
      v: mostly(fc.constant([raw('1')]), fc.constant([raw('2')])),
      x: mostly(
        armed,
        fc.oneof(
          armedTwice,
          ofWindow,
          corrupt.map((bytes) => [bytes]),
        ),
      ),
      ws: fc.constant([raw('1799999999000000')]),
      c: fc.constant([raw('2')]),
      p: fc.constant([raw('1')]),
    },
    { requiredKeys: ['t', 'ts', 'v'] },
  )
  .map((fields): StoredLimit => ({ type: 'hash', fields: Object.entries(fields) }));

/** Buckets mostly, in any state; some of them corrupt, of a newer schema, or of a window last. */
export const storedLimit: fc.Arbitrary<StoredLimit> = fc.oneof(
  { weight: 2, arbitrary: fc.constant<StoredLimit>({ type: 'nothing' }) },
  { weight: 7, arbitrary: bucket },
  { weight: 1, arbitrary: fc.constantFrom<StoredLimit>({ type: 'string' }, { type: 'set' }) },
);

/** Keys of one side of a comparison. */
export class StoredLimits {
  constructor(
    private readonly client: Redis,
    private readonly prefix: string,
  ) {}

  readonly keyOf = (name: string): string => `${this.prefix}:${name}`;

  async write(name: string, limit: StoredLimit, nowUs: number): Promise<void> {
    const key = this.keyOf(name);
    if (limit.type === 'nothing') return;
    if (limit.type === 'string') await this.client.set(key, 'a string');
    else if (limit.type === 'set') await this.client.zadd(key, nowUs, 'a lease');
    else {
      const fields = limit.fields.flatMap(([field, bytes]) => [field, packed(bytes, nowUs)]);
      await this.client.hset(key, ...fields);
    }
    await this.client.pexpireat(key, EXPIRES_MS);
  }

  /** All that is stored under a key, and when it expires by the clock of the server. */
  async read(name: string): Promise<{ dump: Buffer | null; expiresMs: number }> {
    const key = this.keyOf(name);
    const [dump, expiresMs] = await Promise.all([
      this.client.dumpBuffer(key),
      this.client.pexpiretime(key),
    ]);
    return { dump, expiresMs };
  }

  async remove(names: readonly string[]): Promise<void> {
    await this.client.del(names.map(this.keyOf));
  }
}

function packed(bytes: readonly Bytes[], nowUs: number): Buffer {
  return Buffer.concat(bytes.map((one) => packedOne(one, nowUs)));
}

function packedOne({ kind, value }: Bytes, nowUs: number): Buffer {
  if (kind === 'raw') return Buffer.from(value as string, 'latin1');
  const buffer = Buffer.alloc(8);
  if (kind === 'double') buffer.writeDoubleLE(value as number);
  else buffer.writeBigInt64LE(BigInt(nowUs + (value as number)));
  return buffer;
}
