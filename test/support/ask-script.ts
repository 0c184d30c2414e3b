import type { Redis } from 'ioredis';
import { expect } from '@jest/globals';
import type { Question } from '../../lib/redis/decide-message.js';
import { encode } from '../../lib/redis/decide-message.js';

/** The number that a script has to give back. */
export const TICKET = 4711;

/** What a script answers that decides chains, at a time of the test: the numbers behind its ticket. */
export async function askScript(
  client: Redis,
  script: string,
  questions: readonly Question[],
  nowUs: number,
): Promise<number[]> {
  const { keys, args } = encode(questions, String(nowUs));
  const reply = await client.eval(script, keys.length, ...keys, ...args, TICKET);
  expect((reply as number[]).slice(0, 2)).toEqual([TICKET, nowUs]);
  return (reply as number[]).slice(1);
}
