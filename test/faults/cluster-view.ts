import type { Redis } from 'ioredis';
import calculateSlot from 'cluster-key-slot';
import type { ClusterServers } from '../support/redis-servers.js';
import { until } from '../support/redis-servers.js';
import type { Stage } from './stage.js';

/** A node as the others see it; a master has slots. */
export interface ClusterNode {
  readonly id: string;
  readonly port: number;
  readonly masterId: string;
  readonly slots: readonly (readonly [from: number, to: number])[];
}

/** The slot in which all limits of a plain key live. */
export function slotOf(key: string): number {
  return calculateSlot(`{${key}}`);
}

/** A cluster as its nodes see it, and what a test does to them. */
export class ClusterView {
  readonly #servers;
  readonly #admins = new Map<number, Redis>();
  /** Those that would not answer. */
  readonly #silent = new Set<number>();

  constructor(
    cluster: ClusterServers,
    private readonly stage: Stage,
  ) {
    this.#servers = [...cluster.masters, ...cluster.replicas];
  }

  adminOf({ port }: { readonly port: number }): Redis {
    let admin = this.#admins.get(port);
    if (!admin) this.#admins.set(port, (admin = this.stage.admin({ port })));
    return admin;
  }

  /** Clients of all nodes that answer. */
  get admins(): Redis[] {
    const speaking = this.#servers.filter(({ port }) => !this.#silent.has(port));
    return speaking.map((server) => this.adminOf(server));
  }

  async nodes(admin = this.admins[0]!): Promise<ClusterNode[]> {
    const text = (await admin.cluster('NODES')) as string;
    return text.trim().split('\n').map(parse);
  }

  /** Clients of all masters that answer. */
  async masters(): Promise<Redis[]> {
    const masters = (await this.nodes()).filter(({ slots }) => slots.length > 0);
    return masters.filter(({ port }) => !this.#silent.has(port)).map((node) => this.adminOf(node));
  }

  async masterOf(slot: number, admin?: Redis): Promise<ClusterNode> {
    return (await this.nodes(admin)).find((node) => owns(node, slot))!;
  }

  /** Who takes over from a master, once it has all that the master has. */
  async heirOf({ id }: ClusterNode): Promise<ClusterNode> {
    let heir: ClusterNode | undefined;
    await until('an heir', async () => {
      heir = (await this.nodes()).find(({ masterId }) => masterId === id);
      return heir !== undefined && (await this.adminOf(heir).role())[3] === 'connected';
    });
    return heir!;
  }

  /** Keys that live there, one for each of that many slots. */
  keysOn(node: ClusterNode, count: number): string[] {
    const keys: string[] = [];
    for (let i = 0; keys.length < count; i++) {
      if (owns(node, slotOf(`key-${i}`))) keys.push(`key-${i}`);
    }
    return keys;
  }

  async kill(node: ClusterNode): Promise<void> {
    this.#silent.add(node.port);
    await this.#serverAt(node).kill();
  }

  halt(node: ClusterNode): void {
    this.#silent.add(node.port);
    this.#serverAt(node).halt();
  }

  resume(node: ClusterNode): void {
    this.#serverAt(node).resume();
    this.#silent.delete(node.port);
  }

  async start(node: ClusterNode): Promise<void> {
    await this.#serverAt(node).start();
    this.#silent.delete(node.port);
  }

  async configure(option: string, value: string): Promise<void> {
    await Promise.all(this.admins.map((admin) => admin.config('SET', option, value)));
  }

  /** Announces that a slot is going to move: what is not here any more is to be asked for there. */
  async beginMove(slot: number, from: ClusterNode, to: ClusterNode): Promise<void> {
    await this.adminOf(to).cluster('SETSLOT', slot, 'IMPORTING', from.id);
    await this.adminOf(from).cluster('SETSLOT', slot, 'MIGRATING', to.id);
  }

  async moveKeys(keys: readonly string[], from: ClusterNode, to: ClusterNode): Promise<void> {
    if (keys.length === 0) return;
    await this.adminOf(from).migrate('127.0.0.1', to.port, '', 0, 1_000, 'KEYS', ...keys);
  }

  async keysIn(slot: number, node: ClusterNode): Promise<string[]> {
    return this.adminOf(node).cluster('GETKEYSINSLOT', slot, 100);
  }

  async endMove(slot: number, to: ClusterNode): Promise<void> {
    // The new master first, or for a moment it would be nobody's.
    const masters = await this.masters();
    for (const admin of [this.adminOf(to), ...masters]) {
      await admin.cluster('SETSLOT', slot, 'NODE', to.id);
    }
  }

  /** Until all that answer agree that a slot has another master, and that all is well. */
  async untilReplaced(old: ClusterNode): Promise<void> {
    const slot = old.slots[0]![0];
    await until('another master', async () => {
      const masters = await Promise.all(this.admins.map((admin) => this.masterOf(slot, admin)));
      // For a moment nobody may be known to serve it.
      const isReplaced = masters.every((master) => master && master.port !== old.port);
      return isReplaced && (await this.#isWell());
    });
  }

  async untilWell(): Promise<void> {
    await until('the cluster to be well', () => this.#isWell());
  }

  async #isWell(): Promise<boolean> {
    const infos = await Promise.all(this.admins.map((admin) => admin.cluster('INFO')));
    return infos.every((info) => info.includes('cluster_state:ok'));
  }

  #serverAt(node: ClusterNode) {
    return this.#servers.find(({ port }) => port === node.port)!;
  }
}

/** A line of CLUSTER NODES; slots that are on the move stand in brackets. */
function parse(line: string): ClusterNode {
  const [id = '', address = '', , masterId = '', , , , , ...ranges] = line.split(' ');
  const settled = ranges.filter((range) => !range.startsWith('['));
  return {
    id,
    port: Number(/:(\d+)@/.exec(address)?.[1]),
    masterId,
    slots: settled.map((range) => {
      const [from, to = from] = range.split('-').map(Number);
      return [from!, to!];
    }),
  };
}

function owns({ slots }: ClusterNode, slot: number): boolean {
  return slots.some(([from, to]) => from <= slot && slot <= to);
}
