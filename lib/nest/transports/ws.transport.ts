import type { ExecutionContext, Type } from '@nestjs/common';
import { Injectable } from '@nestjs/common';
import type * as websockets from '@nestjs/websockets';
import type { KeyResolver } from '../../core/keys/key-resolver.js';
import { CONNECTION_METADATA } from '../metadata.js';
import { missingPackage } from './missing-package.js';
import type { Refusal } from './refusal.js';
import { payloadOf } from './refusal.js';
import type { SocketClient } from './socket-client.js';
import { sourceOf } from './socket-client.js';
import type { MessageRequest, Transport } from './transport.js';
import { readsOneOf } from './transport.js';
import { UpgradeHeaders } from './upgrade-headers.js';

/** The metadata of `@SubscribeMessage`. */
const MESSAGE_MAPPING = 'websockets:message_mapping';

/** Messages of WebSocket gateways, by socket.io or ws, and their connections. */
@Injectable()
export class WsTransport implements Transport {
  #package: Promise<typeof websockets> | undefined;

  constructor(private readonly upgrades: UpgradeHeaders) {}

  handles(_controller: Type, handler: Function): boolean {
    return [MESSAGE_MAPPING, CONNECTION_METADATA].some((one) => Reflect.hasMetadata(one, handler));
  }

  handlerNameOf(handler: Function): string {
    const isConnection = Reflect.hasMetadata(CONNECTION_METADATA, handler);
    return isConnection ? 'WebSocket gateway' : 'WebSocket message';
  }

  mayFind(resolver: KeyResolver): boolean {
    return readsOneOf(['address', 'headers', 'user'], resolver);
  }

  async prepare(): Promise<void> {
    await this.#websockets();
    this.upgrades.listen();
  }

  requestOf(context: ExecutionContext): MessageRequest {
    const client = context.getArgByIndex<SocketClient>(0);
    const source = sourceOf(client, this.upgrades.of(client));
    return { ...source, data: context.switchToWs().getData<unknown>() };
  }

  async refuse(refusal: Refusal): Promise<Error> {
    const { WsException } = await this.#websockets();
    return new WsException({ status: 'error', ...payloadOf(refusal) });
  }

  /** Loaded when it is needed, and not before. */
  #websockets(): Promise<typeof websockets> {
    return (this.#package ??= import('@nestjs/websockets').catch(
      missingPackage('@nestjs/websockets', 'Limits on WebSocket gateways'),
    ));
  }
}
