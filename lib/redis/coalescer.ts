/** Something to be sent, and who waits for the answer. */
interface Job<Question, Answer> {
  readonly question: Question;
  readonly group: Group;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
}

/** What may travel together: a slot, or a key of one that is moving. */
export type Group = number | string;

/** Sends questions together and answers each, in order: with an Error where there is no answer. */
export type SendTogether<Question, Answer> = (
  questions: readonly Question[],
) => Promise<readonly (Answer | Error)[]>;

/**
 * Largest number of questions in one message. Larger ones keep the server busy while the client
 * waits and the other way round; smaller ones pay for more messages.
 */
const MAX_TOGETHER = 32;

/**
 * Collects what is asked in one turn of the event loop and sends it together, group by group. A lone
 * question goes out in the same turn; several messages may be under way.
 */
export class Coalescer<Question, Answer> {
  #waiting: Job<Question, Answer>[] = [];
  readonly #flush = (): void => {
    const jobs = this.#waiting;
    this.#waiting = [];
    for (const ofGroup of byGroup(jobs)) {
      for (let from = 0; from < ofGroup.length; from += MAX_TOGETHER) {
        void this.#sendBatch(ofGroup.slice(from, from + MAX_TOGETHER));
      }
    }
  };

  constructor(private readonly send: SendTogether<Question, Answer>) {}

  ask(question: Question, group: Group): Promise<Answer> {
    return new Promise<Answer>((resolve, reject) => {
      if (this.#waiting.length === 0) setImmediate(this.#flush);
      this.#waiting.push({ question, group, resolve, reject });
    });
  }

  async #sendBatch(jobs: readonly Job<Question, Answer>[]): Promise<void> {
    try {
      const answers = await this.send(jobs.map(({ question }) => question));
      jobs.forEach((job, i) => settle(job, answers[i]!));
    } catch (error) {
      for (const { reject } of jobs) reject(error);
    }
  }
}

function settle<Answer>(job: Job<unknown, Answer>, answer: Answer | Error): void {
  if (answer instanceof Error) job.reject(answer);
  else job.resolve(answer);
}

/** Where there is one server all slots are one, and nothing is to be sorted. */
function byGroup<J extends { readonly group: Group }>(jobs: readonly J[]): Iterable<readonly J[]> {
  const first = jobs[0]!.group;
  if (jobs.every(({ group }) => group === first)) return [jobs];
  const groups = new Map<Group, J[]>();
  for (const job of jobs) {
    const ofGroup = groups.get(job.group);
    if (ofGroup) ofGroup.push(job);
    else groups.set(job.group, [job]);
  }
  return groups.values();
}
