import type { Outbound } from '../../nest/outbound.js';
import { checkOutboundOptions } from '../../nest/outbound-options.js';
import type { OutboundOptions } from '../../nest/outbound-options.js';
import type { ConfiguredValue } from './configured-value.js';
import { asText, fieldsAsText, firstOf } from './configured-value.js';

/** Those that are told rule by rule. */
const RULES: readonly string[] = ['default', 'domains'];

/** The options of the outbound side, then its rules. A rule that counts is taken whole. */
export function outboundValues(given: OutboundOptions, outbound: Outbound): ConfiguredValue[] {
  const options = Object.entries(checkOutboundOptions(given)).filter(([n]) => !RULES.includes(n));
  return [
    ...options.map(([name, value]): ConfiguredValue => ({
      part: 'outbound',
      name,
      value: value === Number.POSITIVE_INFINITY ? 'no bound' : asText(value),
      source: given[name as keyof OutboundOptions] === undefined ? 'default' : 'option',
    })),
    ...firstOf('outbound', outbound.explain(), ({ domain, rule, source }) => [
      { part: 'outbound', name: `rule ${domain}`, value: fieldsAsText(rule), source },
    ]),
  ];
}
