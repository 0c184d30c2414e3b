import { remember } from './redis/binary.mjs';
import { createFarm } from './redis/farm.mjs';

/** Starts what the specs share; test/support/redis-servers.ts is how they find it. */
export default async function globalSetup() {
  const farm = createFarm();
  Object.assign(globalThis, { redisFarm: farm });
  const { program } = farm;
  remember(program);
  console.log(`\nRedis: ${program.version} (${program.from})`);
  if (!program.isNative) {
    console.log('Suites that need a native server are skipped; in CI they fail.');
  }
  const [single, cluster, sentinel] = await Promise.all([
    farm.single(['--enable-debug-command', 'yes']),
    program.isNative ? farm.cluster() : undefined,
    program.isNative ? farm.sentinel() : undefined,
  ]);
  process.env['TEST_REDIS_URL'] = single.url;
  if (cluster) process.env['TEST_REDIS_CLUSTER'] = JSON.stringify(cluster.nodes);
  if (sentinel) {
    const { name, nodes: sentinels } = sentinel;
    process.env['TEST_REDIS_SENTINEL'] = JSON.stringify({ name, sentinels });
  }
}
