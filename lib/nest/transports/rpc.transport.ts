import type { ExecutionContext, Type } from '@nestjs/common';
import { Injectable, Logger } from '@nestjs/common';
import type * as microservices from '@nestjs/microservices';
import type { KeyResolver } from '../../core/keys/key-resolver.js';
import { MissingKeyException } from '../missing-key.exception.js';
import { missingPackage } from './missing-package.js';
import type { Refusal } from './refusal.js';
import { payloadOf } from './refusal.js';
import type { MessageRequest, Transport } from './transport.js';
import { readsOneOf } from './transport.js';

/** As much of the context of a message as is used. */
interface RpcContext {
  /** Set by a guard that knows who sent the message. */
  readonly user?: unknown;
  /** Of the TCP transport, the only one that knows where a message comes from. */
  getSocketRef?(): { readonly netSocket?: { readonly remoteAddress?: string } } | undefined;
}

/** The metadata of `@MessagePattern`, `@EventPattern` and `@GrpcMethod`. */
const PATTERN = 'microservices:pattern';
/** The metadata of the transport that a handler is for, and the one that knows addresses. */
const TRANSPORT = 'microservices:transport';
const TCP = 0;

/** Messages of microservices, whatever carries them. */
@Injectable()
export class RpcTransport implements Transport {
  #hasWarned = false;
  #package: Promise<typeof microservices> | undefined;

  handles(_controller: Type, handler: Function): boolean {
    return Reflect.hasMetadata(PATTERN, handler);
  }

  handlerNameOf(): string {
    return 'microservice message';
  }

  /** Most handlers do not say by which transport their messages come. */
  mayFind(resolver: KeyResolver, handler: Function): boolean {
    const transport: unknown = Reflect.getMetadata(TRANSPORT, handler);
    const hasAddress = transport === undefined || transport === TCP;
    return readsOneOf(hasAddress ? ['address', 'user'] : ['user'], resolver);
  }

  async prepare(): Promise<void> {
    await this.#microservices();
  }

  /** Nothing of the message itself is believed: whoever sends it could be anybody in it. */
  requestOf(context: ExecutionContext): MessageRequest {
    const rpc = context.getArgByIndex<RpcContext | undefined>(1);
    const ip = rpc?.getSocketRef?.()?.netSocket?.remoteAddress;
    return { ip, user: rpc?.user, data: context.getArgByIndex<unknown>(0) };
  }

  async refuse(refusal: Refusal): Promise<Error> {
    if (refusal instanceof MissingKeyException) this.#warnOnce();
    const { RpcException } = await this.#microservices();
    return new RpcException({ status: 'error', ...payloadOf(refusal) });
  }

  /** All messages of a handler are refused then, and their senders cannot help it. */
  #warnOnce(): void {
    if (this.#hasWarned) return;
    this.#hasWarned = true;
    new Logger('RateLimit').warn(
      'A message was refused because it does not tell whom to count: most transports know no ' +
        'addresses. Give @RateLimit a key: a function of the message, or "all".',
    );
  }

  /** Loaded when it is needed, and not before. */
  #microservices(): Promise<typeof microservices> {
    return (this.#package ??= import('@nestjs/microservices').catch(
      missingPackage('@nestjs/microservices', 'Limits on microservice messages'),
    ));
  }
}
