import { SetMetadata } from '@nestjs/common';
import { SKIP_METADATA } from './metadata.js';

/**
 * Leaves a handler or a class out of every limit, those of the gateway included;
 * `@SkipRateLimit(false)` takes it back in.
 */
export function SkipRateLimit(skip = true): MethodDecorator & ClassDecorator {
  return SetMetadata(SKIP_METADATA, skip);
}
