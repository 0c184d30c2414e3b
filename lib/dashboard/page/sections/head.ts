import type { DashboardData } from '../../dashboard-data.js';
import { byId, setText } from '../dom.js';
import { clock, duration } from '../format.js';

/** What is seen, whether it is of now, and how the store is. */
export class HeadSection {
  readonly #live = byId('live');
  readonly #trouble = byId('trouble');
  readonly #store = byId('store-state');
  #lastAtMs: number | undefined;

  update({ title, process, stats }: DashboardData): void {
    const { host, pid, environment, startedAtMs } = process;
    const up = `up ${duration(Math.max(0, stats.takenAtMs - startedAtMs))}`;
    setText(byId('title'), title);
    setText(byId('process'), [host, `pid ${pid}`, environment, up].filter(Boolean).join(' · '));
    this.#lastAtMs = Date.now();
    this.#show('live', 'Live', '');
    const isUp = stats.store.status === 'up';
    this.#store.hidden = false;
    this.#store.className = `chip chip-${isUp ? 'good' : 'bad'}`;
    setText(this.#store, isUp ? 'Store up' : 'Store failing');
  }

  tellTrouble(why: string): void {
    const since = this.#lastAtMs;
    const age = since === undefined ? '' : ` What you see is of ${clock(since)}.`;
    this.#show('lost', 'No answer', `${why}${age} Trying again every second.`);
  }

  #show(state: 'live' | 'lost', word: string, trouble: string): void {
    this.#live.className = `live is-${state}`;
    setText(this.#live, word);
    document.body.classList.toggle('is-stale', state === 'lost');
    this.#trouble.hidden = trouble === '';
    setText(this.#trouble, trouble);
  }
}
