import type { CheckedOptions, HeaderStyle } from './rate-limit-options.js';

const STRING = { type: 'string' } as const;
const INTEGER = { type: 'integer' } as const;

const RETRY_AFTER = {
  'Retry-After': { description: 'Seconds after which to try again.', schema: INTEGER },
};

const HEADERS: Readonly<Record<Exclude<HeaderStyle, false>, object>> = {
  'draft-11': {
    'RateLimit-Policy': { description: 'The limits: how much, in how long.', schema: STRING },
    RateLimit: { description: 'What is left of the limits, and for how long.', schema: STRING },
  },
  legacy: {
    'X-RateLimit-Limit': { description: 'The tightest limit.', schema: INTEGER },
    'X-RateLimit-Remaining': { description: 'What is left of it.', schema: INTEGER },
    'X-RateLimit-Reset': { description: 'Seconds until it is whole again.', schema: INTEGER },
  },
};

const BODY = {
  statusCode: { type: 'integer', example: 429 },
  message: { type: 'string', example: 'Rate limit exceeded. Retry in 2 s.' },
  error: { type: 'string', example: 'Too Many Requests' },
  plans: { type: 'array', items: STRING, description: 'The plans that said no.' },
  retryAfterMs: { type: 'integer', nullable: true, description: 'null: waiting does not help.' },
} as const;

const PROBLEM = {
  type: STRING,
  title: STRING,
  status: INTEGER,
  detail: STRING,
  'violated-policies': { type: 'array', items: STRING },
} as const;

/** What a denied request is answered, in the words of OpenAPI. */
export function denialDocs({ headers, problemDetails }: CheckedOptions): object {
  const properties = problemDetails ? { ...PROBLEM, ...BODY } : BODY;
  const schema = { type: 'object', properties, required: Object.keys(properties) };
  return {
    description: 'A rate limit was exceeded.',
    headers: { ...(headers === false ? {} : HEADERS[headers]), ...RETRY_AFTER },
    content: { [problemDetails ? 'application/problem+json' : 'application/json']: { schema } },
  };
}
