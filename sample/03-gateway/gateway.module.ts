import type { DynamicModule } from '@nestjs/common';
import { Module } from '@nestjs/common';
import { RateLimitModule } from 'nestjs-floodgate';
import type { Addresses } from './proxy.js';
import { ADDRESSES, Proxy } from './proxy.js';
import { ProxyController } from './proxy.controller.js';

/** What the gateway goes by. */
export interface GatewayModuleOptions {
  /** The limits, in YAML. */
  readonly file: string;
  readonly addresses: Addresses;
}

@Module({ controllers: [ProxyController], providers: [Proxy] })
export class GatewayModule {
  static forRoot({ file, addresses }: GatewayModuleOptions): DynamicModule {
    return {
      module: GatewayModule,
      imports: [RateLimitModule.forRoot({ gateway: { file, watch: true } })],
      providers: [{ provide: ADDRESSES, useValue: addresses }],
    };
  }
}
