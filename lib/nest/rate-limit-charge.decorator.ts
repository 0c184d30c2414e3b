import type { ExecutionContext } from '@nestjs/common';
import { createParamDecorator } from '@nestjs/common';
import { RequestCharge } from './request-charge.js';
import type { LimitedRequest } from './request-state.js';
import { knownState } from './request-state.js';

/**
 * Hands a handler what its request was charged, as a `RequestCharge`: to look at, or to settle.
 *
 * ```ts
 * async complete(@Body() prompt: Prompt, @RateLimitCharge() charge: RequestCharge) {
 *   const answer = await this.model.complete(prompt);
 *   await charge.settle('model-tokens', answer.tokensUsed);
 *   return answer;
 * }
 * ```
 */
export const RateLimitCharge = createParamDecorator(
  (_: unknown, context: ExecutionContext): RequestCharge =>
    new RequestCharge(knownState(context.getArgByIndex<LimitedRequest>(0))?.leases ?? []),
);
