import type { CheckedOptions, RateLimitOptions } from '../../nest/rate-limit-options.js';
import type { ConfiguredValue } from './configured-value.js';
import { asText } from './configured-value.js';

/** Those that are told elsewhere, field by field. */
const PARTS: readonly string[] = ['plans', 'outbound', 'gateway'];
/** Those that hold passwords, or may. */
const SECRETS: readonly string[] = ['redis', 'keySecret'];

/** The options of the module; `given` is what the application wrote. */
export function optionValues(checked: CheckedOptions, given: RateLimitOptions): ConfiguredValue[] {
  return Object.entries(checked)
    .filter(([name]) => !PARTS.includes(name))
    .map(([name, value]) => ({
      part: 'options',
      name,
      value: SECRETS.includes(name) ? 'set, not shown' : valueOf(name, value),
      source: given[name as keyof RateLimitOptions] === undefined ? 'default' : 'option',
    }));
}

function valueOf(name: string, value: unknown): string {
  // Resolvers may be made of secrets as well; their names are not.
  if (name === 'keyResolvers') return Object.keys(value as object).join(', ') || 'none';
  return asText(value);
}
