// Plugging in
export { RateLimitModule } from './nest/rate-limit.module.js';
export { RateLimit } from './nest/rate-limit.decorator.js';
export { RateLimitCharge } from './nest/rate-limit-charge.decorator.js';
export { RequestCharge } from './nest/request-charge.js';
export { SkipRateLimit } from './nest/skip-rate-limit.decorator.js';
export { RateLimitGuard } from './nest/rate-limit.guard.js';
export { RateLimitInterceptor } from './nest/rate-limit.interceptor.js';
export { RateLimitExceededException } from './nest/rate-limit-exceeded.exception.js';
export { RateLimitUnavailableException } from './nest/rate-limit-unavailable.exception.js';
export { MissingKeyException } from './nest/missing-key.exception.js';
export { RATE_LIMIT_OPTIONS } from './nest/rate-limit.module-definition.js';
export type { RateLimitModuleExtras } from './nest/rate-limit.module-definition.js';
export type {
  GraphqlOptions,
  HeaderStyle,
  MissingKeyPolicy,
  RateLimitOptions,
  RateLimitOptionsFactory,
} from './nest/rate-limit-options.js';
export type {
  ChainOptions,
  PlanLink,
  PlanLinks,
  RefundCondition,
  RequestFunction,
} from './nest/chain-options.js';
export type { DiagnosisCode } from './nest/diagnosis.js';
export type { RequestOutcome } from './nest/request-outcome.js';
export type { MessageRequest } from './nest/transports/transport.js';
export type { RefusalPayload } from './nest/transports/refusal.js';

// Deciding in code
export { RateLimiter } from './core/rate-limiter.js';
export type { PlanChain, PlanReference, ReserveOptions } from './core/rate-limiter.js';
export { RateLimitResult } from './core/rate-limit-result.js';
export type { LimitStatus, RateLimitReason } from './core/rate-limit-result.js';
export { Lease } from './core/lease.js';
export { Reservation } from './core/reservation.js';

// Plans
export { PlanRegistry } from './core/plan-registry.js';
export { InMemoryPlanRegistry } from './core/in-memory-plan-registry.js';
export type { PlanChangeListener } from './core/in-memory-plan-registry.js';
export { planFromEnv } from './core/plan-from-env.js';
export { definePlans } from './core/define-plans.js';
export type { PlanName, PlanOrRate, Register } from './core/register.js';
export type { Rate } from './core/rate.js';
export type {
  ConcurrencyDefinition,
  FailurePolicy,
  PlanDefinition,
  PlanModifiers,
  SlidingWindowDefinition,
  TokenBucketDefinition,
} from './core/plan.js';

// Changes while running, in all processes
export { SharedPlans } from './shared/plans/shared-plans.js';
export { SharedRules } from './outbound/shared-rules.js';
export type { ChangeNote, SharedEntry } from './shared/entries-document.js';

// Keys
export { FieldKeyResolver } from './core/keys/field-key-resolver.js';
export type { FieldPlace } from './core/keys/field-key-resolver.js';
export { HeaderKeyResolver } from './core/keys/header-key-resolver.js';
export { PrincipalKeyResolver } from './core/keys/principal-key-resolver.js';
export { IpKeyResolver } from './core/keys/ip-key-resolver.js';
export { FirstOfKeyResolver } from './core/keys/first-of-key-resolver.js';
export { normalizeAddress } from './core/keys/address.js';
export type {
  KeyResolver,
  KeyValue,
  Phase,
  RequestPart,
  RequestSource,
} from './core/keys/key-resolver.js';
export type { KeyFunction, KeySource } from './core/keys/key-resolvers.js';

// Calls to others
export { OutboundLimiter } from './outbound/outbound-limiter.js';
export type { DomainStats, OutboundAnswer } from './outbound/outbound-limiter.js';
export type { WaitOptions, Waits } from './outbound/wait-options.js';
export { Permit } from './outbound/permit.js';
export { AdaptiveThrottler } from './outbound/adaptive-throttler.js';
export type {
  BlockAdvice,
  BlockOptions,
  ThrottleEvents,
  ThrottleState,
} from './outbound/adaptive-throttler.js';
export type { OutboundOptions } from './nest/outbound-options.js';
export type { DomainRule } from './outbound/outbound-rules.js';
export type { ThrottleRule } from './outbound/throttle-rule.js';
export type { LimitStatsJson, LimitStatsSnapshot } from './outbound/limit-stats.js';
export type { ThrottleStatsSnapshot } from './outbound/throttle-stats.js';
export { limitAxios } from './outbound/axios.js';
export type { AxiosHolder, AxiosTarget, LimitAxiosOptions } from './outbound/axios.js';
export { BLOCK_TYPES, triggersCooldown } from './outbound/block-type.js';
export type { BlockType } from './outbound/block-type.js';
export { classifyResponse } from './outbound/classify-response.js';
export type { ResponseSource } from './outbound/classify-response.js';
export type { HeaderValue, ResponseHeaders } from './outbound/response-headers.js';
export { classifyError } from './outbound/classify-error.js';
export type { LostRequest } from './outbound/classify-error.js';
export type { Classifier } from './outbound/classifiers.js';
export { parseRetryAfter } from './outbound/retry-after.js';
export { normalizeDomain } from './outbound/domain-name.js';

// Seeing it
export { RateLimitStats } from './observe/rate-limit-stats.js';
export type {
  ConfigStats,
  CooldownState,
  CooldownStats,
  DenialStats,
  OperationStats,
  OutboundStats,
  PolicyStats,
  RateLimitSnapshot,
  SeriesPoint,
  ServerStats,
  StoreStats,
  TimeStats,
  TopKey,
  TopKeys,
  Totals,
} from './observe/stats-snapshot.js';
export type { DomainView } from './outbound/rule-view.js';
export type { OutboundRefusal } from './outbound/outbound-listener.js';
export { TIME_BUCKETS_SECONDS } from './observe/time-stats.js';
export { RateLimitEvents } from './observe/rate-limit-events.js';
export type { RateLimitEvent, RateLimitListener } from './observe/rate-limit-events.js';
export type {
  ConfigMessage,
  CooldownMessage,
  DecidedLimit,
  DecisionMessage,
  LeaseMessage,
  RateLimitMessages,
  StoreMessage,
  WaitMessage,
} from './observe/channels.js';

// Standing in front of others
export { GatewayLimiter } from './gateway/gateway-limiter.js';
export type { LevelUse } from './gateway/limits/level-use.js';
export type { GatewayChange, GatewayEvents } from './gateway/updates/gateway-events.js';
export type { GatewayMatch } from './gateway/routes/gateway-match.js';
export type { GatewayTarget } from './gateway/limits/gateway-target.js';
export type { LevelExplanation } from './gateway/limits/explain-levels.js';
export type { RouteExplanation } from './gateway/limits/explain-route.js';
export { GatewayAnswer } from './gateway/connections/gateway-answer.js';
export type { GatewayDenial } from './gateway/connections/gateway-answer.js';
export type { Level, LevelResource, Resource } from './gateway/limits/level-limit.js';
export type { LimitSource } from './gateway/limits/cascade.js';
export type {
  GatewayBackend,
  GatewayConfig,
  GatewayRoute,
  LevelLimits,
} from './gateway/config/gateway-config.js';
export type { GatewayFileOptions, GatewayOptions } from './gateway/config/gateway-options.js';
export { limitConnections } from './nest/gateway/limit-connections.js';

// Stores
export { LimitStore } from './core/limit-store.js';
export type {
  Decision,
  HeldLease,
  Inquiry,
  Limit,
  LimitDecision,
  LimitLabel,
  Return,
} from './core/limit-store.js';
export type {
  DocumentListener,
  DocumentStore,
  ReplacedDocument,
  StoredDocument,
} from './core/document-store.js';
export type { Awaitable } from './core/awaitable.js';
export type { ConcurrencyPlan, Plan, SlidingWindowPlan, TokenBucketPlan } from './core/plan.js';
export type {
  BeatChange,
  BlockChange,
  FreeChange,
  Gate,
  GateChange,
  GateListener,
  GateState,
  GateView,
  GateWatch,
  ReplanChange,
  SuccessChange,
} from './core/gate.js';
export { MemoryStore } from './memory/memory-store.js';
export type { ClusterSource, RedisSource } from './redis/connect.js';
export type { RedisClient } from './redis/redis-servers.js';
export { MonotonicClock } from './memory/monotonic-clock.js';
export { Clock } from './core/clock.js';

// Errors
export {
  CostExceedsBurstError,
  OutboundDeniedError,
  OutboundUnavailableError,
  UnknownDomainError,
  WaitAbortedError,
  WaitTimedOutError,
} from './outbound/outbound-errors.js';
export type { WaitTimeoutReason } from './outbound/outbound-errors.js';
export { InvalidGatewayConfigError } from './gateway/config/gateway-config.js';
export { InvalidGatewayFileError } from './gateway/config/gateway-file.js';
export { InvalidDomainError } from './outbound/domain-name.js';
export { InvalidDomainRuleError } from './outbound/outbound-rules.js';
export { InvalidOutboundFileError } from './outbound/outbound-file.js';
export {
  InvalidKeyError,
  InvalidOptionError,
  InvalidPlanError,
  InvalidTokensError,
  LeaseRequiredError,
  RateLimitError,
  UnknownPlanError,
} from './core/errors.js';
export type { RateLimitErrorCode } from './core/errors.js';
