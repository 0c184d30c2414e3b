declare module 'cluster-key-slot' {
  /** The slot of a cluster that a key lives in. */
  function calculateSlot(key: string): number;
  export = calculateSlot;
}
