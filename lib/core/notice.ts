/** A text that all processes share, such as settings that were changed while running. */
export interface Notice {
  /** Grows with every change; 0 when there is none. */
  readonly version: number;
  /** What it says. */
  readonly text: string;
}

/** A notice that was read, or that somebody else had changed before it could be replaced. */
export interface PostedNotice extends Notice {
  /** Whether it was replaced. */
  readonly posted: boolean;
}

/** Hears that a notice may have changed: it was replaced, or messages were missed. */
export type NoticeListener = () => void;
