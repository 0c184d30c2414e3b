// Starts an application, asks it, and tells it to end.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';

const LONGEST_MS = 60_000;
// Said by Node 22.12 alone, whenever CommonJS loads an ES module.
const OF_NODE =
  /^(\(node:\d+\) ExperimentalWarning: CommonJS module .*|Support for loading ES Module .*|\(Use `node --trace-warnings .*)\n/gm;

/** Throws what is not as it should be. */
export async function visit(node, main, cwd) {
  const signal = AbortSignal.timeout(LONGEST_MS);
  const child = spawn(node, [main], { cwd, signal, killSignal: 'SIGKILL', env: {} });
  const said = { stdout: '', stderr: '' };
  for (const stream of ['stdout', 'stderr'])
    child[stream].setEncoding('utf8').on('data', (text) => (said[stream] += text));
  const ended = once(child, 'close');
  // Whoever waits for it hears of a failure; it may come while nobody does.
  ended.catch(() => undefined);
  try {
    const url = await firstLine(child, said, ended);
    await ask(url);
    child.kill('SIGTERM');
    assert.deepEqual(await ended, [0, null], 'ends by itself once it is closed');
    assert.equal(said.stdout, `${url}\n`, 'logs no warning');
    assert.equal(said.stderr.replaceAll(OF_NODE, ''), '', 'logs no error');
  } catch (error) {
    child.kill('SIGKILL');
    const why = signal.aborted ? `is not over after ${LONGEST_MS} ms` : error.message;
    throw new Error(`${why}\n${said.stdout}${said.stderr}`, { cause: error });
  }
}

async function firstLine(child, said, ended) {
  while (!said.stdout.includes('\n')) {
    const more = await Promise.race([once(child.stdout, 'data'), ended.then(() => undefined)]);
    if (!more) throw new Error('ended before it listened');
  }
  return said.stdout.slice(0, said.stdout.indexOf('\n'));
}

async function ask(url) {
  const get = (path, headers = {}) => answer(`${url}/${path}`, headers);
  await askByAddress(get);
  await askByHeader(get);
  await askByPrincipal(get);
  const { body } = await get('code');
  assert.deepEqual(body, { allowed: true, reason: 'ALLOWED', remainingTokens: 3 });
  const outbound = await get('outbound');
  assert.deepEqual(outbound.body, [{ allowed: true }, { allowed: false }]);
}

async function askByAddress(get) {
  const [first, second, third] = [await get('address'), await get('address'), await get('address')];
  assert.deepEqual([first.status, second.status, third.status], [200, 200, 429]);
  for (const { policy } of [first, second, third]) assert.equal(policy, '"2/minute";q=2;w=60');
  assert.match(first.limit, /^"2\/minute";r=1;t=\d+$/);
  assert.match(third.limit, /^"2\/minute";r=0;t=\d+$/);
  assert.equal(second.retryAfter, null);
  assert.match(third.retryAfter, /^([1-9]|[12]\d|30)$/);
  assert.deepEqual(third.body.plans, ['2/minute']);
}

async function askByHeader(get) {
  const statuses = [];
  for (const key of ['a', 'a', 'b'])
    statuses.push((await get('header', { 'x-api-key': key })).status);
  assert.deepEqual(statuses, [200, 429, 200]);
}

async function askByPrincipal(get) {
  const answers = [];
  for (const user of ['ada', 'ada', 'bob'])
    answers.push(await get('principal', { 'x-user': user }));
  assert.deepEqual(
    answers.map(({ status }) => status),
    [200, 429, 200],
  );
  assert.match(answers[0].policy, /^"gold";q=5;.*, "bronze";q=1;w=60$/);
  assert.deepEqual(answers[1].body.plans, ['bronze']);
}

async function answer(url, headers) {
  const response = await fetch(url, { headers });
  const text = await response.text();
  return {
    status: response.status,
    policy: response.headers.get('RateLimit-Policy'),
    limit: response.headers.get('RateLimit'),
    retryAfter: response.headers.get('Retry-After'),
    body: response.headers.get('content-type')?.includes('json') ? JSON.parse(text) : text,
  };
}
