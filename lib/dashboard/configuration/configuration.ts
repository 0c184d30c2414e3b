import type { ModuleRef } from '@nestjs/core';
import { InMemoryPlanRegistry } from '../../core/in-memory-plan-registry.js';
import { GatewayLimiter } from '../../gateway/gateway-limiter.js';
import { Outbound } from '../../nest/outbound.js';
import type { CheckedOptions, RateLimitOptions } from '../../nest/rate-limit-options.js';
import { CHECKED_OPTIONS, RATE_LIMIT_OPTIONS } from '../../nest/rate-limit.module-definition.js';
import { SharedPlans } from '../../shared/plans/shared-plans.js';
import type { PolicyStats } from '../../observe/stats-snapshot.js';
import type { ConfiguredValue } from './configured-value.js';
import { gatewayValues } from './gateway-values.js';
import { optionValues } from './option-values.js';
import { outboundValues } from './outbound-values.js';
import { planValues } from './plan-values.js';

/** The parts of an application that know what is configured. */
interface ConfigurationTies {
  readonly given: RateLimitOptions;
  readonly checked: CheckedOptions;
  readonly written: InMemoryPlanRegistry;
  readonly shared: SharedPlans;
  readonly outbound: Outbound;
  readonly gateway: GatewayLimiter;
}

/** Tells every value that is in force and where it came from. Secrets are not told. */
export class Configuration {
  private constructor(private readonly ties: ConfigurationTies) {}

  /** That of the application, whatever its modules export. */
  static of(modules: ModuleRef): Configuration {
    const anywhere = { strict: false };
    return new Configuration({
      given: modules.get<RateLimitOptions>(RATE_LIMIT_OPTIONS, anywhere),
      checked: modules.get<CheckedOptions>(CHECKED_OPTIONS, anywhere),
      written: modules.get(InMemoryPlanRegistry, anywhere),
      shared: modules.get(SharedPlans, anywhere),
      outbound: modules.get(Outbound, anywhere),
      gateway: modules.get(GatewayLimiter, anywhere),
    });
  }

  /** Every value at this moment; `used` are the plans that were used, wherever they came from. */
  values(used: readonly PolicyStats[]): ConfiguredValue[] {
    const { given, checked, written, shared, outbound, gateway } = this.ties;
    return [
      ...planValues({ given, written, shared, used, env: process.env }),
      ...outboundValues(given.outbound ?? {}, outbound),
      ...gatewayValues(given.gateway, gateway),
      ...optionValues(checked, given),
    ];
  }
}
