import { randomUUID } from 'node:crypto';
import type {
  DynamicModule,
  MiddlewareConsumer,
  NestModule,
  OnApplicationShutdown,
} from '@nestjs/common';
import { Inject, Module } from '@nestjs/common';
import { APP_GUARD, ModulesContainer } from '@nestjs/core';
import { RateLimitError } from '../core/errors.js';
import { ForgottenLeases } from '../core/forgotten-leases.js';
import { InMemoryPlanRegistry } from '../core/in-memory-plan-registry.js';
import { KeyResolvers } from '../core/keys/key-resolvers.js';
import { LimitStore } from '../core/limit-store.js';
import { planFromEnv } from '../core/plan-from-env.js';
import { PlanRegistry } from '../core/plan-registry.js';
import { RateLimiter } from '../core/rate-limiter.js';
import { Observation } from '../observe/observation.js';
import { RateLimitEvents } from '../observe/rate-limit-events.js';
import { RateLimitStats } from '../observe/rate-limit-stats.js';
import { SharedPlanRegistry } from '../shared/plans/shared-plan-registry.js';
import { SharedPlans } from '../shared/plans/shared-plans.js';
import { AdaptiveThrottler } from '../outbound/adaptive-throttler.js';
import { OutboundLimiter } from '../outbound/outbound-limiter.js';
import { SharedRules } from '../outbound/shared-rules.js';
import { GatewayLimiter } from '../gateway/gateway-limiter.js';
import { ApiDocumentation } from './api-documentation.js';
import { ApplicationSources } from './application-sources.js';
import { ApplicationStores } from './application-stores.js';
import { Diagnostics } from './diagnostics.js';
import { ApplicationGateway, gatewayFor } from './gateway/gateway.provider.js';
import { GatewayDoor } from './gateway/gateway-door.js';
import { GatewaySkipCheck } from './gateway/gateway-skip-check.js';
import { GatewaySkips } from './gateway/gateway-skips.js';
import { GatewayUpgrades } from './gateway/gateway-upgrades.js';
import { GatewayMiddleware } from './gateway/gateway.middleware.js';
import { GlobalRateLimitGuard } from './global-rate-limit.guard.js';
import { HandlerChainsReader } from './handler-chains.js';
import { LayeredPlanRegistry } from './layered-plan-registry.js';
import { TimedLeaseKeeper } from './lease-keeper.js';
import { newObservation, Observed } from './observed.js';
import { Outbound } from './outbound.js';
import { checkOutboundOptions } from './outbound-options.js';
import { OutcomeRefunds } from './outcome-refunds.js';
import { PathCase } from './gateway/path-case.js';
import { RateLimitEnforcer } from './rate-limit.enforcer.js';
import { RateLimitExplorer } from './rate-limit.explorer.js';
import type { ASYNC_OPTIONS_TYPE, OPTIONS_TYPE } from './rate-limit.module-definition.js';
import {
  CHECKED_OPTIONS,
  ConfigurableModuleClass,
  RATE_LIMIT_OPTIONS,
} from './rate-limit.module-definition.js';
import type { CheckedOptions, RateLimitOptions } from './rate-limit-options.js';
import { checkOptions } from './rate-limit-options.js';
import { ServedRoutes } from './gateway/served-routes.js';
import { sharedPlansFor, sharedRulesFor } from './shared-changes.js';
import { ReportingHandlers } from './slots/reporting-handlers.js';
import { endSlots } from './slots/slot-ends.js';
import { ConnectionLimiter } from './transports/connection.limiter.js';
import { FieldEnhancers } from './transports/field-enhancers.js';
import { GraphqlHeaders } from './transports/graphql-headers.js';
import { GraphqlTransport } from './transports/graphql.transport.js';
import { LimitedFields } from './transports/limited-fields.js';
import { RpcTransport } from './transports/rpc.transport.js';
import { Transports } from './transports/transports.js';
import { UpgradeHeaders } from './transports/upgrade-headers.js';
import { WsTransport } from './transports/ws.transport.js';

/** What all processes share beside limits; undefined where the store keeps none. */
const DOCUMENTS = Symbol('documents');

/**
 * Rate limiting for an application. Import it once, in the root module:
 * `RateLimitModule.forRoot()`.
 */
@Module({
  providers: [
    {
      provide: CHECKED_OPTIONS,
      useFactory: checkRegistration,
      inject: [ModulesContainer, { token: RATE_LIMIT_OPTIONS, optional: true }],
    },
    { provide: InMemoryPlanRegistry, useFactory: writtenPlans, inject: [CHECKED_OPTIONS] },
    {
      provide: PlanRegistry,
      useFactory: allPlans,
      inject: [CHECKED_OPTIONS, InMemoryPlanRegistry, SharedPlans],
    },
    { provide: Observation, useFactory: newObservation },
    {
      provide: ApplicationStores,
      useFactory: (options: CheckedOptions, observation: Observation) =>
        new ApplicationStores(options, observation),
      inject: [CHECKED_OPTIONS, Observation],
    },
    {
      provide: LimitStore,
      useFactory: (stores: ApplicationStores) => stores.limits(),
      inject: [ApplicationStores],
    },
    {
      provide: DOCUMENTS,
      useFactory: (stores: ApplicationStores, limits: LimitStore) => stores.documentsFor(limits),
      inject: [ApplicationStores, LimitStore],
    },
    {
      provide: Observed,
      useFactory: observe,
      inject: [Observation, LimitStore, TimedLeaseKeeper],
    },
    {
      provide: RateLimitEvents,
      useFactory: ({ events }: Observation) => events,
      inject: [Observation],
    },
    {
      provide: RateLimitStats,
      useFactory: (sources: ApplicationSources) => new RateLimitStats(sources),
      inject: [ApplicationSources],
    },
    ApplicationSources,
    {
      provide: KeyResolvers,
      useFactory: (options: CheckedOptions) => new KeyResolvers(options),
      inject: [CHECKED_OPTIONS],
    },
    {
      provide: RateLimiter,
      useFactory: limiterFor,
      inject: [PlanRegistry, Observed, Diagnostics],
    },
    {
      provide: Outbound,
      useFactory: outboundFor,
      inject: [CHECKED_OPTIONS, Observed],
    },
    {
      provide: SharedPlans,
      useFactory: sharedPlansFor,
      inject: [CHECKED_OPTIONS, DOCUMENTS, Observation],
    },
    {
      provide: SharedRules,
      useFactory: sharedRulesFor,
      inject: [CHECKED_OPTIONS, DOCUMENTS, Observation, Outbound],
    },
    {
      provide: OutboundLimiter,
      useFactory: ({ limiter }: Outbound) => limiter,
      inject: [Outbound],
    },
    {
      provide: AdaptiveThrottler,
      useFactory: ({ throttler }: Outbound) => throttler,
      inject: [Outbound],
    },
    {
      provide: ApplicationGateway,
      useFactory: gatewayFor,
      inject: [CHECKED_OPTIONS, Observed, DOCUMENTS, KeyResolvers, PathCase],
    },
    {
      provide: GatewayLimiter,
      useFactory: ({ limiter }: ApplicationGateway) => limiter,
      inject: [ApplicationGateway],
    },
    ...[GatewayDoor, GatewayUpgrades, GatewaySkipCheck, GatewaySkips, ServedRoutes, PathCase],
    TimedLeaseKeeper,
    ReportingHandlers,
    HandlerChainsReader,
    OutcomeRefunds,
    Diagnostics,
    ...[UpgradeHeaders, WsTransport, RpcTransport, Transports],
    ...[GraphqlHeaders, LimitedFields, FieldEnhancers, GraphqlTransport],
    RateLimitEnforcer,
    ConnectionLimiter,
    RateLimitExplorer,
    ApiDocumentation,
    GlobalRateLimitGuard,
    { provide: APP_GUARD, useExisting: GlobalRateLimitGuard },
  ],
  exports: [
    RateLimiter,
    PlanRegistry,
    InMemoryPlanRegistry,
    LimitStore,
    RateLimitEnforcer,
    ConnectionLimiter,
    OutboundLimiter,
    AdaptiveThrottler,
    GatewayLimiter,
    SharedPlans,
    SharedRules,
    RateLimitStats,
    RateLimitEvents,
  ],
})
export class RateLimitModule
  extends ConfigurableModuleClass
  implements NestModule, OnApplicationShutdown
{
  /** Registers the module. Without options it limits in this process, by plans from decorators. */
  static override forRoot(options: typeof OPTIONS_TYPE = {}): DynamicModule {
    return super.forRoot(options);
  }

  /** Registers the module with options that have to be waited for or injected. */
  static override forRootAsync(options: typeof ASYNC_OPTIONS_TYPE): DynamicModule {
    return super.forRootAsync(options);
  }

  /** @internal Made by the module. */
  constructor(
    private readonly store: LimitStore,
    private readonly guard: GlobalRateLimitGuard,
    private readonly stats: RateLimitStats,
    private readonly plans: SharedPlans,
    private readonly rules: SharedRules,
    private readonly skips: GatewaySkips,
    private readonly handlers: ReportingHandlers,
    private readonly explorer: RateLimitExplorer,
    @Inject(CHECKED_OPTIONS) private readonly options: CheckedOptions,
  ) {
    super();
  }

  /** Runs before the routes are made, which is when Nest reads their guards and interceptors. */
  async configure(consumer: MiddlewareConsumer): Promise<void> {
    this.guard.goFirst();
    if (this.options.gateway) {
      this.skips.mark();
      consumer.apply(GatewayMiddleware).forRoutes('{*path}');
    }
    this.handlers.replaceAll();
    await this.explorer.watchSlots();
  }

  /** Closes what the module opened: connections, files that are watched. */
  async onApplicationShutdown(): Promise<void> {
    this.stats.close();
    this.plans.stop();
    this.rules.stop();
    // Only what the module opened: a store that was passed in may serve others.
    if (!this.options.store) await this.store.close();
  }
}

function checkRegistration(modules: ModulesContainer, options?: RateLimitOptions): CheckedOptions {
  const registered = [...modules.values()].filter(({ metatype }) => metatype === RateLimitModule);
  if (registered.length > 1) {
    throw new RateLimitError(
      'REGISTERED_TWICE',
      'RateLimitModule is registered twice. Call forRoot() or forRootAsync() once, in the root ' +
        'module; it is global, so other modules need not import it.',
    );
  }
  if (options === undefined) {
    throw new RateLimitError(
      'NOT_CONFIGURED',
      'RateLimitModule is imported without options. Write RateLimitModule.forRoot() instead.',
    );
  }
  return checkOptions(options);
}

function writtenPlans({ plans, registry }: CheckedOptions): InMemoryPlanRegistry {
  const complete = registry !== undefined || 'default' in plans;
  return new InMemoryPlanRegistry(complete ? plans : { default: planFromEnv(), ...plans });
}

function allPlans(
  { registry, sharedChanges }: CheckedOptions,
  written: InMemoryPlanRegistry,
  shared: SharedPlans,
): PlanRegistry {
  const own = registry ? new LayeredPlanRegistry(written, registry, planFromEnv()) : written;
  return sharedChanges ? new SharedPlanRegistry(shared, own) : own;
}

function observe(observation: Observation, store: LimitStore, keeper: TimedLeaseKeeper): Observed {
  return new Observed(observation, store, keeper);
}

function outboundFor({ outbound = {} }: CheckedOptions, observed: Observed): Promise<Outbound> {
  return new Outbound(checkOutboundOptions(outbound), observed).start();
}

function limiterFor(
  registry: PlanRegistry,
  { store, keeper }: Observed,
  diagnostics: Diagnostics,
): RateLimiter {
  const forgottenLeases = new ForgottenLeases(
    (slots) => endSlots(slots, 'LEASE_FORGOTTEN', diagnostics),
    diagnostics.isOn,
  );
  const parts = { registry, store, leaseKeeper: keeper, newLeaseId: randomUUID };
  return new RateLimiter({ ...parts, forgottenLeases });
}
