/**
 * Where a value came from: nobody said anything (`default`), the options of the module, a file, the
 * environment, a change while running, a rate in the code (of a decorator or a call), or the registry
 * of the application.
 */
export type ValueSource = 'default' | 'option' | 'file' | 'env' | 'update' | 'code' | 'registry';

/** What a value is part of. */
export type ConfigurationPart = 'options' | 'plans' | 'outbound' | 'gateway';

/** One value of the configuration, as it may be shown. */
export interface ConfiguredValue {
  /** What the value is part of. */
  readonly part: ConfigurationPart;
  /** The name of the option, plan or level. */
  readonly name: string;
  /** The value as text, without secrets. */
  readonly value: string;
  /** Who said so. */
  readonly source: ValueSource;
}

/** Values of a part that are told one by one. A file may have a hundred thousand. */
const MAX_VALUES = 100;
const MAX_LENGTH = 200;

/** The first values of a part, and how many there are beyond. */
export function firstOf<Entry>(
  part: ConfigurationPart,
  entries: readonly Entry[],
  tell: (entry: Entry) => readonly ConfiguredValue[],
): ConfiguredValue[] {
  const values = entries.slice(0, MAX_VALUES).flatMap(tell);
  const beyond = entries.length - MAX_VALUES;
  if (beyond <= 0) return values;
  return [...values, { part, name: '…', value: `and ${beyond} more`, source: 'default' }];
}

/** Fields as they are written: `capacity 5, tokensPerSecond 3`. Those left out are left out. */
export function fieldsAsText(fields: object): string {
  const said = Object.entries(fields).filter(([, value]) => value !== undefined);
  return said.map(([name, value]) => `${name} ${asText(value)}`).join(', ');
}

/** A value on one line, bounded. Objects that are no plain data are told by what they are. */
export function asText(value: unknown): string {
  const text = typeof value === 'string' ? value : describe(value);
  return text.length > MAX_LENGTH ? `${text.slice(0, MAX_LENGTH - 1)}…` : text;
}

function describe(value: unknown): string {
  if (typeof value === 'function') return 'a function';
  if (typeof value !== 'object' || value === null) return String(value);
  if (Array.isArray(value)) return value.length === 0 ? 'none' : `${value.length} entries`;
  const { constructor } = value;
  if (constructor !== Object && typeof constructor === 'function') return constructor.name;
  return fieldsAsText(value) || 'none';
}
