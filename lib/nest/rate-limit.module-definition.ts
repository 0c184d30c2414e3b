import { ConfigurableModuleBuilder } from '@nestjs/common';
import type { RateLimitOptions } from './rate-limit-options.js';

/** The options with their defaults, checked. */
export const CHECKED_OPTIONS = Symbol('nestjs-floodgate:checked-options');

/** What `forRoot` takes beside the options. */
export interface RateLimitModuleExtras {
  /**
   * Whether every module of the application may inject the limiter without importing it.
   * @default true
   */
  readonly isGlobal?: boolean;
}

export const {
  ConfigurableModuleClass,
  MODULE_OPTIONS_TOKEN: RATE_LIMIT_OPTIONS,
  OPTIONS_TYPE,
  ASYNC_OPTIONS_TYPE,
} = new ConfigurableModuleBuilder<RateLimitOptions>({ moduleName: 'RateLimit' })
  .setClassMethodName('forRoot')
  .setFactoryMethodName('createRateLimitOptions')
  .setExtras<RateLimitModuleExtras>({ isGlobal: true }, (definition, { isGlobal }) => ({
    ...definition,
    global: isGlobal ?? true,
  }))
  .build();
