/** The chains of a handler or a class, topmost decorator first. */
export const CHAINS_METADATA = 'nestjs-floodgate:chains';
/** Whether a handler or a class is left out. */
export const SKIP_METADATA = 'nestjs-floodgate:skip';
/** Whether a method is a `handleConnection` whose connections are limited. */
export const CONNECTION_METADATA = 'nestjs-floodgate:connection';
/** On handlers whose slots an interceptor watches. */
export const SLOT_WATCH_METADATA = 'nestjs-floodgate:slot-watch';
