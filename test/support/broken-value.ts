type Path = readonly (string | number)[];

/** The paths of a value and of all that is in it. */
export function placesIn(value: unknown, path: Path = []): Path[] {
  if (typeof value !== 'object' || value === null) return [path];
  const entries: [string | number, unknown][] = Array.isArray(value)
    ? value.map((one, index) => [index, one])
    : Object.entries(value);
  return [path, ...entries.flatMap(([step, one]) => placesIn(one, [...path, step]))];
}

/** The same with another value at a path; what was given stays as it is. */
export function breakAt(value: unknown, [step, ...rest]: Path, other: unknown): unknown {
  if (step === undefined) return other;
  const given = value as Record<string | number, unknown>;
  const copy = Array.isArray(value) ? Object.assign([], value) : { ...given };
  return Object.assign(copy, { [step]: breakAt(given[step], rest, other) });
}
