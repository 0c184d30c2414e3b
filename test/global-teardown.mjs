export default async function globalTeardown() {
  await globalThis.redisFarm?.stop();
}
