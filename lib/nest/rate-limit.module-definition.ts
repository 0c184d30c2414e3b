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

const definition = new ConfigurableModuleBuilder<RateLimitOptions>({ moduleName: 'RateLimit' })
  .setClassMethodName('forRoot')
  .setFactoryMethodName('createRateLimitOptions')
  .setExtras<RateLimitModuleExtras>({ isGlobal: true }, (module, { isGlobal }) => ({
    ...module,
    global: isGlobal ?? true,
  }))
  .build();

export const { ConfigurableModuleClass, OPTIONS_TYPE, ASYNC_OPTIONS_TYPE } = definition;

/** The token of the options as `forRoot` was given them, for providers that want to read them. */
export const RATE_LIMIT_OPTIONS = definition.MODULE_OPTIONS_TOKEN;
