/** What ioredis says when it has followed as many redirections as it may. */
const GAVE_UP = /^Too many Cluster redirections\. Last error: (?:\w*Error: )?/;
const OF_A_MOVING_SLOT = /^(TRYAGAIN|ASK|MOVED) /;
const OF_AN_UNSERVED_SLOT = /^CLUSTERDOWN Hash slot not served/;

/**
 * Whether a slot is moving, so that its keys are on two servers. The command was not run. Commands of
 * one key are answered all the same.
 */
export function isOfMovingSlot(error: unknown): boolean {
  return OF_A_MOVING_SLOT.test(answerIn(error));
}

/** Whether the error is about one slot. It says nothing about the other slots of the server. */
export function isOfSlot(error: unknown): boolean {
  const answer = answerIn(error);
  return OF_A_MOVING_SLOT.test(answer) || OF_AN_UNSERVED_SLOT.test(answer);
}

/** What Redis answered, without what ioredis adds. */
export function answerIn(error: unknown): string {
  return String((error as Error | undefined)?.message).replace(GAVE_UP, '');
}
