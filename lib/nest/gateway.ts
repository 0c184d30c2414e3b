import { randomUUID } from 'node:crypto';
import type { OnApplicationShutdown } from '@nestjs/common';
import { Logger } from '@nestjs/common';
import type { DocumentStore } from '../core/document-store.js';
import { WatchedFile } from '../files/watched-file.js';
import { checkGatewayConfig } from '../gateway/check-gateway-config.js';
import type { GatewayConfig } from '../gateway/gateway-config.js';
import { gatewayFileFormat } from '../gateway/gateway-file.js';
import type { GatewayChange } from '../gateway/gateway-events.js';
import { GatewayLimiter } from '../gateway/gateway-limiter.js';
import type { YamlPackage } from '../gateway/yaml-text.js';
import type { GatewayOptions } from './gateway-options.js';
import { isInFile } from './gateway-options.js';
import type { SideTies } from './observed.js';

const logger = new Logger('RateLimit');

/** What the gateway side hangs on. */
export interface GatewaySideTies extends SideTies {
  /** Keeps the updates that all processes share. */
  readonly documents: DocumentStore | undefined;
  /** One way to write the address of each client. */
  readonly keyOfClient: (clientIp: string) => string;
  /** Whether letter case counts in the paths of routes. */
  readonly isCaseSensitive: () => boolean;
}

/** The gateway side of an application, put together. */
export class Gateway implements OnApplicationShutdown {
  readonly limiter: GatewayLimiter;
  #file: WatchedFile<GatewayConfig> | undefined;

  private constructor(
    config: GatewayConfig,
    private readonly ties: GatewaySideTies,
  ) {
    const { store, documents, keeper, keyOfClient, isCaseSensitive } = ties;
    const own = {
      ...{ store, documents, keeper, keyOfClient, isCaseSensitive },
      newLeaseId: randomUUID,
      onUnreadable: (error: Error) => keep(error, ties),
    };
    this.limiter = new GatewayLimiter(checkGatewayConfig(config), own);
    this.limiter.events.on('change', (change) => this.#log(change));
  }

  /** Reads the configuration. A bad one keeps the application from starting. */
  static async start(options: GatewayOptions | undefined, ties: GatewaySideTies): Promise<Gateway> {
    if (options === undefined) return new Gateway({}, ties);
    if (!isInFile(options)) return new Gateway(options, ties).#begin();
    const keepConfig = (error: Error) => keep(error, ties);
    const format = gatewayFileFormat(await yamlPackage());
    const made: { gateway?: Gateway } = {};
    const file = new WatchedFile(options.file, format, {
      onChange: (config) => {
        made.gateway?.limiter.changeConfig(checkGatewayConfig(config)).catch(keepConfig);
      },
      onError: keepConfig,
    });
    const gateway = new Gateway(await file.start(), ties);
    made.gateway = gateway;
    if (options.watch === false) file.close();
    else gateway.#file = file;
    return gateway.#begin();
  }

  onApplicationShutdown(): void {
    this.#file?.close();
    this.limiter.stop();
  }

  async #begin(): Promise<this> {
    await this.limiter.start();
    this.#declareLevels();
    return this;
  }

  /** Levels that are limited have their metrics from the start. */
  #declareLevels(): void {
    const policies = this.ties.observation?.tally.policies;
    for (const { limit } of this.limiter.levelLimits()) policies?.declare(limit.plan, limit.seenAs);
  }

  #log({ level, id, difference, tooManyConnections }: GatewayChange): void {
    const name = id === '' ? level : `${level} "${id}"`;
    const told = difference.join(', ');
    this.ties.observation?.config.changed('gateway', `${name}: ${told}`);
    logger.log(`Limits of the ${name} changed: ${told}.`);
    if (tooManyConnections === 0) return;
    logger.warn(
      `The ${name} has ${tooManyConnections} connections more than it may have from now on: they ` +
        'stay, and new ones are refused until enough have ended.',
    );
  }
}

/** A file that cannot be used, or a store that does not answer while it is taken over. */
function keep({ message }: Error, { observation }: SideTies): void {
  observation?.config.refused('gateway', message);
  logger.error(`The gateway stays as it is: ${message}`);
}

/** Optional: files in JSON can be read without it. */
async function yamlPackage(): Promise<YamlPackage | undefined> {
  try {
    return await import('yaml');
  } catch {
    return undefined;
  }
}
