/** One link of a chain with everything found: whom it counts, and what it costs. */
export interface Charge {
  readonly plan: string;
  readonly key: string;
  readonly tokens: number;
}
