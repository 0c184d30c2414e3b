import type { Notice, NoticeListener, PostedNotice } from '../core/notice.js';

const NOTHING: Notice = Object.freeze({ version: 0, text: '' });

/** Notices within this process. Few: whoever posts them uses one name. */
export class NoticeBoard {
  readonly #notices = new Map<string, Notice>();
  readonly #listeners = new Map<string, Set<NoticeListener>>();

  read(name: string): Notice {
    return this.#notices.get(name) ?? NOTHING;
  }

  post(name: string, version: number, text: string): PostedNotice {
    const before = this.read(name);
    if (before.version !== version) return { ...before, posted: false };
    const notice = { version: version + 1, text };
    this.#notices.set(name, notice);
    for (const listener of this.#listeners.get(name) ?? []) listener();
    return { ...notice, posted: true };
  }

  watch(name: string, listener: NoticeListener): () => void {
    const listeners = this.#listeners.get(name) ?? new Set();
    this.#listeners.set(name, listeners.add(listener));
    return () => listeners.delete(listener);
  }
}
