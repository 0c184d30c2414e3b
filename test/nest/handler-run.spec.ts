import { AsyncResource } from 'node:async_hooks';
import { beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { CallHandler } from '@nestjs/common';
import { defer, merge, mergeMap, NEVER, of, retry } from 'rxjs';
import { ClientGoneException } from '../../lib/nest/slots/client-gone.exception.js';
import { HandlerRun, reportingHandler } from '../../lib/nest/slots/handler-run.js';

const turn = () => new Promise(setImmediate);

/** What is done until a test ends it. */
class Job {
  end!: (value: string) => void;
  fail!: (error: Error) => void;
  readonly promise = new Promise<string>((resolve, reject) => {
    this.end = resolve;
    this.fail = reject;
  });
}

const reporting = (handler: () => unknown) => reportingHandler(handler) as () => unknown;

let jobs: unknown[];
let ended: jest.Mock;
let handler: () => unknown;
let run: HandlerRun;

beforeEach(() => {
  jobs = [];
  ended = jest.fn();
  handler = reporting(() => jobs.shift());
  run = new HandlerRun(handler, ended);
});

/** As Nest calls a handler: each time that somebody subscribes, in the context of the first. */
const calling = (): CallHandler => ({
  handle: () =>
    defer(AsyncResource.bind(() => of(handler()).pipe(mergeMap((one) => one as never)))),
});

describe('a run of a handler', () => {
  it('waits for every call that an interceptor repeats', async () => {
    const [first, second] = [new Job(), new Job()];
    jobs = [first.promise, second.promise];
    const twice = { handle: () => merge(calling().handle(), calling().handle()) };
    run.handle(twice).subscribe().unsubscribe();
    second.end('2');
    await turn();
    expect(ended).not.toHaveBeenCalled();
    first.end('1');
    await turn();
    expect(ended).toHaveBeenCalledTimes(1);
  });

  it('waits for the call that is repeated after one that failed', async () => {
    const job = new Job();
    jobs = [Promise.reject(new Error('once')), job.promise];
    const subscription = run
      .handle({ handle: () => calling().handle().pipe(retry(1)) })
      .subscribe();
    await turn();
    subscription.unsubscribe();
    expect([jobs.length, ended.mock.calls.length]).toEqual([0, 0]);
    job.fail(new Error('again'));
    await turn();
    expect(ended).toHaveBeenCalledTimes(1);
  });

  it('waits for a thenable and resolves it once', async () => {
    const job = new Job();
    const query = { then: jest.fn(job.promise.then.bind(job.promise)) };
    jobs = [query];
    let answer: unknown;
    run.handle(calling()).subscribe((value) => (answer = value));
    await turn();
    expect(ended).not.toHaveBeenCalled();
    job.end('rows');
    await turn();
    expect([answer, query.then.mock.calls.length, ended.mock.calls.length]).toEqual(['rows', 1, 1]);
  });

  it('waits for a promise of a class of its own, and resolves it once', async () => {
    class Query extends Promise<string> {}
    const query = new Query((resolve) => resolve('rows'));
    const executed = jest.spyOn(query, 'then');
    jobs = [query];
    run.handle(calling()).subscribe();
    await turn();
    expect([executed.mock.calls.length, ended.mock.calls.length]).toEqual([1, 1]);
  });

  it('passes on what a handler throws, and ends', () => {
    const failing = reporting(() => {
      throw new Error('broken');
    });
    const errors: unknown[] = [];
    run
      .handle({ handle: () => defer(() => failing() as never) })
      .subscribe({ error: (error) => errors.push((error as Error).message) });
    expect([errors, ended.mock.calls.length]).toEqual([['broken'], 1]);
  });

  it('keeps a handler from beginning whose client left while pipes were at work', () => {
    let begin!: () => unknown;
    run
      .handle({
        handle: () => {
          begin = AsyncResource.bind(handler);
          return NEVER;
        },
      })
      .subscribe()
      .unsubscribe();
    expect(ended).toHaveBeenCalledTimes(1);
    jobs = ['late', 'later'];
    expect(begin).toThrow(ClientGoneException);
    // Whatever comes after that is not of this run.
    expect([begin(), begin()]).toEqual(['late', 'later']);
  });

  it.each(['other handlers, after a client that left', 'any handler, after an answer'])(
    'lets code that it started earlier call %s',
    (which) => {
      const other = reporting(() => 'other');
      let later!: () => unknown;
      const isAnswered = which.startsWith('any');
      const called = isAnswered ? handler : other;
      const answer = run.handle({
        handle: () => {
          later = AsyncResource.bind(called);
          return isAnswered ? of('answer') : NEVER;
        },
      });
      answer.subscribe().unsubscribe();
      jobs = ['again'];
      expect(later()).toBe(isAnswered ? 'again' : 'other');
      expect(ended).toHaveBeenCalledTimes(1);
    },
  );

  it('has nothing to do with what a handler calls, then or later', async () => {
    const inner = new Job();
    let later!: () => unknown;
    const outer = reporting(() => {
      jobs = [inner.promise, 'later'];
      handler();
      later = AsyncResource.bind(handler);
      return 'done';
    });
    run.handle({ handle: () => of(outer()) }).subscribe();
    expect(ended).toHaveBeenCalledTimes(1);
    expect(later()).toBe('later');
    inner.end('');
    await turn();
    expect(ended).toHaveBeenCalledTimes(1);
  });
});
