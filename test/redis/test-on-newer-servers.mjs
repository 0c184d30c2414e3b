// @ts-check
// Runs the suites that need Redis on newer servers: npm run test:servers
import { spawnSync } from 'node:child_process';
import { newerServers } from './newer-servers.mjs';

const patterns = process.argv.length > 2 ? process.argv.slice(2) : ['test/redis', 'test/faults'];

const results = newerServers().map((bin) => {
  const [version] = spawnSync(bin, ['--version'], { encoding: 'utf8' }).stdout.split(' sha=');
  console.log(`\n== ${version}`);
  const { status } = spawnSync('npm', ['test', '--', ...patterns], {
    env: { ...process.env, REDIS_SERVER_BIN: bin },
    stdio: 'inherit',
  });
  return { version, passed: status === 0 };
});

console.table(results);
process.exitCode = results.every(({ passed }) => passed) ? 0 : 1;
