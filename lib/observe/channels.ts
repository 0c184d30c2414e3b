import { channel } from 'node:diagnostics_channel';
import type { Inquiry } from '../core/limit-store.js';
import type { FailurePolicy, Plan } from '../core/plan.js';
import type { RateLimitReason } from '../core/rate-limit-result.js';
import type { OutboundRefusal } from '../outbound/outbound-listener.js';
import type { CooldownState } from './stats-snapshot.js';

/** A request was decided. Published on `nestjs-floodgate:decision`. */
export interface DecisionMessage {
  /** Whether the request may go on, if only after a wait. */
  readonly allowed: boolean;
  /** Why it was allowed or denied. */
  readonly reason: RateLimitReason;
  /** `take` for now or never, `reserve` where a turn could be booked for later. */
  readonly mode: Exclude<Inquiry['mode'], 'peek'>;
  /** Milliseconds until it may go on, or may be asked again; null for never. */
  readonly waitMs: number | null;
  /** Present when the store could not answer: what was done instead. */
  readonly failure?: FailurePolicy;
  /** Whether it was known from before, without the store being asked. */
  readonly fromDenyCache: boolean;
  /** One entry per limit that was asked, in order; none when `failure` is `open` or `closed`. */
  readonly limits: readonly DecidedLimit[];
}

/** What one limit said. */
export interface DecidedLimit {
  /** Name of the plan, or of the level of the gateway. */
  readonly policy: string;
  readonly kind: Plan['kind'];
  /** Masked: a few characters, and a tag that tells equal masks apart. */
  readonly key: string;
  /** Whether this limit said no. */
  readonly denied: boolean;
  /** Whether its no is only reported. */
  readonly shadow: boolean;
  /** What it holds in all: its capacity, limit or slots. */
  readonly quota: number;
  /** Tokens or slots left: after spending when the request was allowed, as they are otherwise. */
  readonly remaining: number;
}

/** A wait for a permit is over. Published on `nestjs-floodgate:wait`. */
export interface WaitMessage {
  /** The rule of the domain, or the plan in which a turn was booked. */
  readonly policy: string;
  /** `outbound` for a call to a domain, `inbound` for a turn that was booked. */
  readonly direction: 'inbound' | 'outbound';
  /** For a turn that was booked, what is to be waited. */
  readonly waitedMs: number;
  /** What the wait came to: the permit, or why there was none. */
  readonly result: 'acquired' | OutboundRefusal;
}

/** The store was asked, or a server of it went away or came back. On `nestjs-floodgate:store`. */
export type StoreMessage =
  | {
      readonly event: 'operation';
      readonly operation: string;
      readonly durationMs: number;
      /** What went wrong; undefined when it was answered. */
      readonly error?: string;
    }
  | { readonly event: 'down'; readonly server: string; readonly reason: string }
  | {
      readonly event: 'up';
      readonly server: string;
      readonly downMs: number;
      readonly decidedWithout: number;
    };

/** Limits were changed while running, or could not be. Published on `nestjs-floodgate:config`. */
export interface ConfigMessage {
  /** Which limits are meant: plans of the registry, outbound rules or those of the gateway. */
  readonly source: 'plans' | 'outbound' | 'gateway';
  /** `error` when the change was refused and what was there stayed. */
  readonly result: 'success' | 'error';
  /** What changed, or why nothing did. */
  readonly detail: string;
}

/** A domain began to cool down, or recovered. Published on `nestjs-floodgate:cooldown`. */
export interface CooldownMessage {
  /** The rule of the domain. */
  readonly policy: string;
  /** The host that is meant. */
  readonly domain: string;
  /** `cooling` when a cooldown was opened or prolonged, `normal` when it is over. */
  readonly to: Exclude<CooldownState, 'trying'>;
  /** How long it lasts; 0 when it is over. */
  readonly cooldownMs: number;
}

/** A slot was given back, or lost. Published on `nestjs-floodgate:lease`. */
export interface LeaseMessage {
  /** The plan, level of the gateway or outbound rule that lent it. */
  readonly policy: string;
  /** `outbound` for a call to a domain, `inbound` for a plan or a level of the gateway. */
  readonly direction: 'inbound' | 'outbound';
  /** Milliseconds for which this process held it. */
  readonly heldMs: number;
}

/** What is told, by the name of the event. */
export interface RateLimitMessages {
  /** A request was allowed or denied. */
  readonly decision: DecisionMessage;
  /** A wait for a permit is over. */
  readonly wait: WaitMessage;
  /** A slot was given back, or lost. */
  readonly lease: LeaseMessage;
  /** The store was asked, or a server of it went away or came back. */
  readonly store: StoreMessage;
  /** Limits were changed while running, or could not be. */
  readonly config: ConfigMessage;
  /** A domain began to cool down, or recovered. */
  readonly cooldown: CooldownMessage;
}

/** The channels of `node:diagnostics_channel`, which all applications of a process share. */
export const CHANNELS = {
  decision: channel('nestjs-floodgate:decision'),
  wait: channel('nestjs-floodgate:wait'),
  lease: channel('nestjs-floodgate:lease'),
  store: channel('nestjs-floodgate:store'),
  config: channel('nestjs-floodgate:config'),
  cooldown: channel('nestjs-floodgate:cooldown'),
} as const;
