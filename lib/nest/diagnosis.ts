/** What looks wrong around the application, and what to do. Codes stay when sentences improve. */
export const DIAGNOSES = {
  FORWARDED_FOR_IGNORED:
    'A request came with X-Forwarded-For, which is ignored because no proxy is trusted. If one stands ' +
    'before this application, all its clients share one address and one limit: name it, with ' +
    "app.set('trust proxy', 'loopback') on Express or new FastifyAdapter({ trustProxy: '127.0.0.1' }). " +
    'If none does, a caller made it up and nothing is wrong.',
  TRUST_PROXY_TRUE:
    'Every proxy is trusted (true), so that callers choose their own address by sending ' +
    "X-Forwarded-For, and escape their limits. Name the proxy instead, for instance 'loopback'.",
  TRUST_PROXY_NUMBER:
    'The number that Fastify has for trustProxy is ignored, so that all clients behind the proxy share ' +
    "one address and one limit. Name the proxy instead: new FastifyAdapter({ trustProxy: '127.0.0.1' }).",
  ONE_ADDRESS:
    'Many requests have come for different clients (X-Forwarded-For), all from one address, so that they ' +
    'share one limit. There is probably one more proxy than are trusted: name all of them.',
  SEVERAL_PROCESSES:
    'This is one of several processes (PM2 or node:cluster), and each counts alone: together they let ' +
    "pass a multiple of every limit. Share the limits: RateLimitModule.forRoot({ redis: 'redis://…' }).",
  SLOT_ENDS_EARLY:
    'Its plan became one that lends slots while the application runs, so that a client that hangs up ' +
    "gives its slot back while the handler still works. Restart the application, or write phase: 'interceptor'.",
  SLOT_HELD_TOO_LONG:
    'A slot was held longer than maxHoldMs of its plan allows and was given back, although what holds it ' +
    'has not ended: give what it waits for a time-out, or raise maxHoldMs.',
  LEASE_FORGOTTEN:
    'A lease that was taken there is garbage and was never released. Its slots were given back. Write ' +
    "'await using slot = await limiter.acquire(…)', or release it in a finally block.",
} as const;

/** What looks wrong, as a word. */
export type DiagnosisCode = keyof typeof DIAGNOSES;
