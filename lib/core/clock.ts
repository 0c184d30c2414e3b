/** Tells the time to what decides. Only differences matter, so any starting point will do. */
export abstract class Clock {
  /** Whole microseconds that never run backwards. */
  abstract nowUs(): number;
}
