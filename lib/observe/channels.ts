import { channel } from 'node:diagnostics_channel';
import type { Inquiry } from '../core/limit-store.js';
import type { FailurePolicy, Plan } from '../core/plan.js';
import type { RateLimitReason } from '../core/rate-limit-result.js';
import type { OutboundRefusal } from '../outbound/outbound-listener.js';
import type { CooldownState } from './stats-snapshot.js';

/** A request was decided. Published on `nestjs-floodgate:decision`. */
export interface DecisionMessage {
  readonly allowed: boolean;
  readonly reason: RateLimitReason;
  readonly mode: Exclude<Inquiry['mode'], 'peek'>;
  /** Milliseconds until it may go on, or may be asked again; null for never. */
  readonly waitMs: number | null;
  /** Present when the store could not answer: what was done instead. */
  readonly failure?: FailurePolicy;
  /** Whether it was known from before, without the store being asked. */
  readonly fromDenyCache: boolean;
  readonly limits: readonly DecidedLimit[];
}

/** What one limit said. */
export interface DecidedLimit {
  readonly policy: string;
  readonly kind: Plan['kind'];
  /** Masked: a few characters, and a tag that tells equal masks apart. */
  readonly key: string;
  readonly denied: boolean;
  readonly shadow: boolean;
  readonly quota: number;
  readonly remaining: number;
}

/** A wait for a permit is over. Published on `nestjs-floodgate:wait`. */
export interface WaitMessage {
  /** The rule of the domain, or the plan in which a turn was booked. */
  readonly policy: string;
  readonly direction: 'inbound' | 'outbound';
  /** For a turn that was booked, what is to be waited. */
  readonly waitedMs: number;
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
  readonly source: 'plans' | 'outbound' | 'gateway';
  readonly result: 'success' | 'error';
  /** What changed, or why nothing did. */
  readonly detail: string;
}

/** A domain began to cool down, or recovered. Published on `nestjs-floodgate:cooldown`. */
export interface CooldownMessage {
  /** The rule of the domain. */
  readonly policy: string;
  readonly domain: string;
  readonly to: Exclude<CooldownState, 'trying'>;
  /** How long it lasts; 0 when it is over. */
  readonly cooldownMs: number;
}

/** A slot was given back. Published on `nestjs-floodgate:lease`. */
export interface LeaseMessage {
  readonly policy: string;
  readonly heldMs: number;
}

/** What is told, by the name of the event. */
export interface RateLimitMessages {
  readonly decision: DecisionMessage;
  readonly wait: WaitMessage;
  readonly lease: LeaseMessage;
  readonly store: StoreMessage;
  readonly config: ConfigMessage;
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
