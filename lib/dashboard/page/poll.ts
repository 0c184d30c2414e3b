import type { DashboardData } from '../dashboard-data.js';

const EVERY_MS = 1_000;
const PATIENCE_MS = 4_000;

/** Hears what comes back. */
export interface PollListener {
  onData(data: DashboardData): void;
  /** Nothing useful came; `why` is a sentence for a person. */
  onTrouble(why: string): void;
}

/** Asks for the data again and again while somebody can see the page. */
export class Poll {
  #timer: number | undefined;
  #isAsking = false;

  constructor(
    private readonly url: string,
    private readonly listener: PollListener,
  ) {}

  start(): void {
    document.addEventListener('visibilitychange', () => this.#next(0));
    this.#next(0);
  }

  #next(delayMs: number): void {
    clearTimeout(this.#timer);
    if (this.#isAsking || document.hidden) return;
    this.#timer = setTimeout(() => void this.#ask(), delayMs) as unknown as number;
  }

  async #ask(): Promise<void> {
    this.#isAsking = true;
    try {
      this.listener.onData(await this.#fetch());
    } catch (error) {
      this.listener.onTrouble(error instanceof Refusal ? error.message : 'No answer.');
    }
    this.#isAsking = false;
    this.#next(EVERY_MS);
  }

  async #fetch(): Promise<DashboardData> {
    const signal = AbortSignal.timeout(PATIENCE_MS);
    const response = await fetch(this.url, { signal, cache: 'no-store' });
    const { status } = response;
    if (status === 401 || status === 403) {
      throw new Refusal(`You may not see this (${status}). Sign in again and reload the page.`);
    }
    if (!response.ok) throw new Refusal(`The application answered ${status}.`);
    try {
      return (await response.json()) as DashboardData;
    } catch {
      throw new Refusal('Something else than data came back. Reload the page.');
    }
  }
}

/** An answer, but not the data. */
class Refusal extends Error {}
