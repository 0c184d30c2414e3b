import { createFarm } from './redis/farm.mjs';

export default async function globalSetup() {
  const farm = createFarm();
  globalThis.redisFarm = farm;
  const { url } = await farm.single(['--enable-debug-command', 'yes']);
  process.env.TEST_REDIS_URL = url;
}
