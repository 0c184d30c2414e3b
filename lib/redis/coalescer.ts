/** Something to be sent, and who waits for the answer. */
interface Job<Question, Answer> {
  readonly question: Question;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
}

/** Sends questions together and answers each, in order. */
export type SendTogether<Question, Answer> = (questions: readonly Question[]) => Promise<Answer[]>;

/**
 * Largest number of questions in one message. Larger ones keep the server busy while the client
 * waits and the other way round; smaller ones pay for more messages.
 */
const MAX_TOGETHER = 32;

/**
 * Collects what is asked in one turn of the event loop and sends it together. A lone question goes
 * out in the same turn; several messages may be under way.
 */
export class Coalescer<Question, Answer> {
  #waiting: Job<Question, Answer>[] = [];

  constructor(private readonly send: SendTogether<Question, Answer>) {}

  ask(question: Question): Promise<Answer> {
    return new Promise<Answer>((resolve, reject) => {
      if (this.#waiting.length === 0) setImmediate(() => this.#flush());
      this.#waiting.push({ question, resolve, reject });
    });
  }

  #flush(): void {
    const jobs = this.#waiting;
    this.#waiting = [];
    for (let from = 0; from < jobs.length; from += MAX_TOGETHER) {
      void this.#sendBatch(jobs.slice(from, from + MAX_TOGETHER));
    }
  }

  async #sendBatch(jobs: readonly Job<Question, Answer>[]): Promise<void> {
    try {
      const answers = await this.send(jobs.map(({ question }) => question));
      jobs.forEach(({ resolve }, i) => resolve(answers[i]!));
    } catch (error) {
      for (const { reject } of jobs) reject(error);
    }
  }
}
