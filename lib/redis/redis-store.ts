import type { DocumentStore } from '../core/document-store.js';
import type { Gate, GateChange, GateListener, GateState, GateWatch } from '../core/gate.js';
import type { Decision, HeldLease, Inquiry, Limit, Return } from '../core/limit-store.js';
import { LimitStore } from '../core/limit-store.js';
import type { Group } from './coalescer.js';
import { Coalescer } from './coalescer.js';
import type { Deadline } from './deadline.js';
import type { DecideMessage, Question } from './decide-message.js';
import { countAnswered, decode, encode, isCutShort } from './decide-message.js';
import { decodeGateNews, decodeGateState, encodeGateChange } from './gate-message.js';
import type { Undoing } from './give-back-message.js';
import { encodeUndoing } from './give-back-message.js';
import { DECIDE, DECIDE_BUCKETS, GATE, GIVE_BACK, RELEASE, RENEW } from './lua.js';
import type { ScriptArgument } from './lua-script.js';
import { LuaScript } from './lua-script.js';
import type { MovingSlots } from './moving-slots.js';
import { rateOf } from './plan-parameters.js';
import { RedisDocuments } from './redis-documents.js';
import { RedisKeys } from './redis-keys.js';
import type { RedisServers } from './redis-servers.js';
import type { OperationListener } from './round-trip-times.js';
import { RoundTripTimes } from './round-trip-times.js';
import { isOfMovingSlot } from './slot-errors.js';
import { Subscriptions } from './subscriptions.js';

/** What the store can be told. */
export interface RedisStoreOptions {
  /** Stands before every key. */
  readonly keyPrefix?: string | undefined;
  /** Bounds how long an answer is waited for. */
  readonly deadline?: Deadline | undefined;
  /** The same for those who wait for their turn anyway, and for what is told about calls to others. */
  readonly patience?: Deadline | undefined;
  /** Hears how long every round trip took; needs `nowMs`. */
  readonly listener?: OperationListener | undefined;
  readonly nowMs?: (() => number) | undefined;
  /** Slots whose keys must not travel together. */
  readonly moving?: MovingSlots | undefined;
  /** The time to decide by instead of the server's, in microseconds: for tests. */
  readonly nowUs?: (() => number) | undefined;
}

/** Leases that are prolonged in one step. */
const MAX_RENEWED = 64;

/** Slots held under one id, by the names of their keys. */
interface HeldKeys {
  readonly leaseId: string;
  readonly keys: readonly string[];
}

/**
 * Remembers in Redis, shared by all processes. A chain is decided by one script in one round trip;
 * chains that are decided in the same turn of the event loop travel together, and so do leases that
 * are released. On a cluster, all keys of one call have to live in one slot: see SlotSplitStore.
 */
export class RedisStore extends LimitStore {
  /** What all processes share beside limits, over the same connections. */
  readonly documents: DocumentStore;
  readonly #decide = new LuaScript(DECIDE);
  readonly #decideBuckets = new LuaScript(DECIDE_BUCKETS);
  readonly #giveBack = new LuaScript(GIVE_BACK);
  readonly #release = new LuaScript(RELEASE);
  readonly #renew = new LuaScript(RENEW);
  readonly #gate = new LuaScript(GATE);
  readonly #keys: RedisKeys;
  readonly #deadline: Deadline | undefined;
  readonly #patience: Deadline | undefined;
  readonly #moving: MovingSlots | undefined;
  readonly #nowUs: (() => number) | undefined;
  readonly #timing: RoundTripTimes | undefined;
  readonly #decisions: Coalescer<Question, Decision>;
  readonly #releases: Coalescer<HeldKeys, boolean>;
  readonly #subscriptions: Subscriptions;

  constructor(
    private readonly servers: RedisServers,
    options: RedisStoreOptions = {},
  ) {
    super();
    const { db } = servers.client.options as { readonly db?: number };
    this.#keys = new RedisKeys(options.keyPrefix, db);
    this.#deadline = options.deadline;
    this.#patience = options.patience ?? options.deadline;
    this.#subscriptions = new Subscriptions(
      () => servers.subscriber(),
      (channel) => servers.client.publish(channel, ''),
      this.#keys.echoChannel,
    );
    this.documents = new RedisDocuments(
      (script, keys, args, length) => this.#run('document', script, keys, args, length),
      this.#keys,
      this.#subscriptions,
    );
    this.#moving = options.moving;
    this.#nowUs = options.nowUs;
    const { listener, nowMs } = options;
    this.#timing = listener && nowMs && new RoundTripTimes(listener, nowMs);
    this.#decisions = new Coalescer((questions) => this.#decideTogether(questions));
    this.#releases = new Coalescer((leases) => this.#releaseTogether(leases));
    // So that the first call of each need not find out that the server has to be told.
    const taking = [this.#decideBuckets, this.#decide];
    const scripts = [...taking, this.#giveBack, this.#release, this.#renew];
    servers.onConnect((node) => {
      for (const { source } of scripts) node.script('LOAD', source).catch(() => undefined);
    });
  }

  override decide(inquiry: Inquiry): Promise<Decision> {
    const keys = this.#keys.namesOf(inquiry.limits);
    if (inquiry.gate) keys.unshift(this.#keys.gateOf(inquiry.gate));
    return this.#decisions.ask({ inquiry, keys }, this.#groupOf(keys[0]!));
  }

  override giveBack(returned: Return): Promise<boolean> {
    if (returned.kind !== 'release') return this.#undo(returned);
    const keys = this.#keys.namesOf(returned.limits);
    if (keys.length === 0) return Promise.resolve(false);
    const { leaseId } = returned;
    return this.#releases.ask({ leaseId, keys }, this.#groupOf(keys[0]!));
  }

  /** A part at a time: who asks for a decision meanwhile need not wait for thousands of leases. */
  override async renew(leases: readonly HeldLease[]): Promise<boolean[]> {
    const renewed: boolean[] = [];
    for (let from = 0; from < leases.length; from += MAX_RENEWED) {
      renewed.push(...(await this.#renewTogether(leases.slice(from, from + MAX_RENEWED))));
    }
    return renewed;
  }

  override async reset(limits: readonly Limit[]): Promise<void> {
    if (limits.length === 0) return;
    await this.#within('reset', this.servers.client.del(this.#keys.namesOf(limits)));
  }

  override changeGate(change: GateChange): Promise<GateState> {
    return this.#atGate(change.gate, change.bucket, change);
  }

  override lookAtGate(gate: Gate): Promise<GateState> {
    return this.#atGate(gate, undefined, undefined);
  }

  override watchGates(listener: GateListener, onLive?: () => void): GateWatch {
    const hear = (text: string) => {
      const news = decodeGateNews(text);
      if (news) listener(news.key, news.state);
    };
    return this.#subscriptions.listen(this.#keys.gateChannel, hear, onLive);
  }

  /** Ends the connections, which are its own. */
  override close(): void {
    this.#subscriptions.close();
    this.servers.close();
  }

  async #atGate(
    gate: Gate,
    bucket: Limit | undefined,
    change: GateChange | undefined,
  ): Promise<GateState> {
    const gateKey = this.#keys.gateOf(gate);
    const bucketKey = bucket ? this.#keys.nameOf(bucket) : gateKey;
    const args = encodeGateChange(change, bucket, this.#keys.gateChannel, gate.key);
    const run = (...keys: string[]) => this.#gate.run(this.servers, keys, [this.#time(), ...args]);
    const slots = change?.kind === 'beat' ? change.slots : undefined;
    const slotKeys = slots ? [this.#keys.nameOf(slots)] : [];
    const answer = run(gateKey, bucketKey, ...slotKeys).catch((error: unknown) => {
      if (!isOfMovingSlot(error)) throw error;
      // The two are on different servers for now: that a cooldown is kept matters more than turns.
      return run(gateKey, gateKey);
    });
    return decodeGateState(await this.#within('gate', answer, this.#patience));
  }

  async #decideTogether(questions: readonly Question[]): Promise<(Decision | Error)[]> {
    const message = encode(questions, this.#time());
    if (!message.onlyBuckets) return decode(questions, await this.#answer(questions, message));
    const reply = await this.#answer(questions, message, this.#decideBuckets);
    if (!isCutShort(reply)) return decode(questions, reply);
    const answered = countAnswered(questions, reply.length - 1);
    const decided = decode(questions.slice(0, answered), reply.slice(0, -1));
    return [...decided, ...(await this.#decideLeft(questions.slice(answered)))];
  }

  /** Those before them have been decided, and charged, whatever becomes of these. */
  async #decideLeft(questions: readonly Question[]): Promise<(Decision | Error)[]> {
    try {
      return decode(questions, await this.#answer(questions, encode(questions, this.#time())));
    } catch (error) {
      return questions.map(() => error as Error);
    }
  }

  #answer(
    questions: readonly Question[],
    { keys, args }: DecideMessage,
    script = this.#decide,
  ): Promise<unknown[]> {
    const deadline = questions.every(isPatient) ? this.#patience : this.#deadline;
    return this.#within('decide', script.run(this.servers, keys, args), deadline);
  }

  async #undo(returned: Undoing): Promise<boolean> {
    const { keys, args } = encodeUndoing(returned, this.#keys);
    if (keys.length === 0) return false;
    const [changed] = await this.#run(
      'give_back',
      this.#giveBack,
      keys,
      [this.#time(), ...args],
      1,
    );
    return changed !== 0;
  }

  async #releaseTogether(leases: readonly HeldKeys[]): Promise<boolean[]> {
    const keys = leases.flatMap((lease) => lease.keys);
    const args = leases.flatMap((lease) => lease.keys.map(() => lease.leaseId));
    const released = await this.#run('release', this.#release, keys, args, keys.length);
    let at = 0;
    return leases.map((lease) => released.slice(at, (at += lease.keys.length)).includes(1));
  }

  async #renewTogether(leases: readonly HeldLease[]): Promise<boolean[]> {
    const keys: string[] = [];
    const args: ScriptArgument[] = [this.#time()];
    for (const { leaseId, limits } of leases) {
      for (const limit of limits) {
        keys.push(this.#keys.nameOf(limit));
        args.push(leaseId, rateOf(limit.plan)[0]);
      }
    }
    if (keys.length === 0) return leases.map(() => true);
    const renewed = await this.#run('renew', this.#renew, keys, args, keys.length);
    let at = 0;
    return leases.map(({ limits }) =>
      renewed.slice(at, (at += limits.length)).every((held) => held === 1),
    );
  }

  #groupOf(firstKey: string): Group {
    const slot = this.servers.slotOf(firstKey);
    if (!this.#moving || this.#moving.isEmpty) return slot;
    return this.#moving.keepsApart(slot) ? firstKey : slot;
  }

  #run(
    operation: string,
    script: LuaScript,
    keys: readonly string[],
    args: readonly ScriptArgument[],
    length: number,
  ): Promise<unknown[]> {
    return this.#within(operation, script.run(this.servers, keys, args, length));
  }

  /** One bound for all that travels together: each on its own would cost every decision a promise. */
  #within<T>(operation: string, answer: Promise<T>, deadline = this.#deadline): Promise<T> {
    const bounded = deadline ? deadline.within(answer) : answer;
    return this.#timing?.time(operation, bounded) ?? bounded;
  }

  #time(): string {
    return this.#nowUs === undefined ? '' : String(this.#nowUs());
  }
}

/** Whoever books ahead would rather hear late than book a turn where others do not see it. */
function isPatient({ inquiry }: Question): boolean {
  return inquiry.mode === 'reserve' && inquiry.maxWaitUs > 0;
}
