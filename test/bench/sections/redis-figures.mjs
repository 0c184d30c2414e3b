// What a Redis server tells about its own work.

/** A slice, and what it cost the server. */
export async function measured(contestant, milliseconds, admin) {
  await admin.config('RESETSTAT');
  const before = await cpuUs(admin);
  const sample = await contestant.slice(milliseconds);
  const spentUs = (await cpuUs(admin)) - before;
  return {
    ...sample,
    redisCpuUs: spentUs / sample.decisions,
    scriptUs: (await scriptUs(admin)) / sample.decisions,
  };
}

/** Time spent in scripts since CONFIG RESETSTAT, the commands that they call included. */
async function scriptUs(client) {
  const stats = await client.info('commandstats');
  const calls = stats.matchAll(/^cmdstat_eval(?:sha)?:.*?\busec=(\d+)/gm);
  return [...calls].reduce((sum, [, us]) => sum + Number(us), 0);
}

/** Processor time of the whole server since its start, reading and writing sockets included. */
async function cpuUs(client) {
  const info = await client.info('cpu');
  const times = info.matchAll(/^used_cpu_(?:user|sys):([\d.]+)/gm);
  return [...times].reduce((sum, [, seconds]) => sum + Number(seconds) * 1_000_000, 0);
}

/** Bytes that the server needs for a key and what it holds, on average over all of them. */
export async function sizeOf(client) {
  const keys = await client.keys('*');
  const sizes = await Promise.all(keys.map((key) => client.memory('USAGE', key)));
  return sizes.reduce((sum, size) => sum + size, 0) / sizes.length;
}
