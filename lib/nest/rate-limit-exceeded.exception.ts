import { HttpException, HttpStatus } from '@nestjs/common';
import type { RateLimitResult } from '../core/rate-limit-result.js';

const PROBLEM_TYPE = 'https://iana.org/assignments/http-problem-types#quota-exceeded';

/** Thrown when a request is denied: 429, with the plans that said no and how long to wait. */
export class RateLimitExceededException extends HttpException {
  constructor(
    /** What was decided, for exception filters. */
    readonly result: RateLimitResult,
    problemDetails = false,
  ) {
    super(bodyOf(result, problemDetails), HttpStatus.TOO_MANY_REQUESTS);
  }

  /** The plans that said no. */
  get plans(): string[] {
    return deniedPlans(this.result);
  }
}

/** Whole seconds for `Retry-After`, at least 1; undefined when waiting does not help. */
export function retryAfterSeconds({
  retryAfterMs,
}: Pick<RateLimitResult, 'retryAfterMs'>): number | undefined {
  return retryAfterMs === null ? undefined : Math.max(1, Math.ceil(retryAfterMs / 1_000));
}

function bodyOf(result: RateLimitResult, problemDetails: boolean): Record<string, unknown> {
  const body = {
    statusCode: HttpStatus.TOO_MANY_REQUESTS,
    message: messageOf(result),
    error: 'Too Many Requests',
    plans: deniedPlans(result),
    retryAfterMs: result.retryAfterMs,
  };
  if (!problemDetails) return body;
  return {
    type: PROBLEM_TYPE,
    title: 'Quota Exceeded',
    status: body.statusCode,
    detail: body.message,
    'violated-policies': body.plans,
    ...body,
  };
}

function deniedPlans({ limits }: RateLimitResult): string[] {
  return limits.filter(({ denied, shadow }) => denied && !shadow).map(({ plan }) => plan);
}

function messageOf(result: RateLimitResult): string {
  switch (result.reason) {
    case 'COST_EXCEEDS_CAPACITY':
      return 'This request costs more than its limit can ever allow.';
    case 'DENIED_BY_PLAN':
      return 'Requests of this kind are not allowed.';
    default:
      return `Rate limit exceeded. Retry in ${retryAfterSeconds(result) ?? 1} s.`;
  }
}
