import { randomUUID } from 'node:crypto';
import { WatchedFile } from '../files/watched-file.js';
import { checkGatewayConfig } from './config/check-gateway-config.js';
import type { GatewayConfig } from './config/gateway-config.js';
import { gatewayFileFormat } from './config/gateway-file.js';
import type { GatewayOptions } from './config/gateway-options.js';
import { isInFile } from './config/gateway-options.js';
import type { YamlPackage } from './config/yaml-text.js';
import type { GatewayLimiterDependencies } from './gateway-limiter.js';
import { GatewayLimiter } from './gateway-limiter.js';
import type { GatewayObserver } from './gateway-reports.js';
import { GatewayReports } from './gateway-reports.js';

/** What a gateway needs from outside. */
export interface GatewayDependencies extends Omit<
  GatewayLimiterDependencies,
  'newLeaseId' | 'onUnreadable'
> {
  /** Notified of what is configured, changed and refused. */
  readonly observer: GatewayObserver;
}

/** A gateway at work. */
export interface Gateway {
  readonly limiter: GatewayLimiter;
  /** Stops watching the file and following updates. */
  close(): void;
}

/**
 * Makes a gateway of a configuration or the file that it is in, and follows changes of both. A bad
 * configuration throws; a file that becomes bad later is refused, and the limits stay. Without options
 * nothing is limited.
 */
export async function createGateway(
  options: GatewayOptions | undefined,
  dependencies: GatewayDependencies,
): Promise<Gateway> {
  const reports = new GatewayReports(dependencies.observer);
  const create = (config: GatewayConfig) => newLimiter(config, dependencies, reports);
  if (options === undefined) return gatewayOf(create({}));
  if (!isInFile(options)) return start(create(options), reports);
  const made: { limiter?: GatewayLimiter } = {};
  const file = new WatchedFile(options.file, gatewayFileFormat(await yamlPackage()), {
    onChange: (config) => {
      made.limiter?.changeConfig(checkGatewayConfig(config)).catch(reports.refused);
    },
    onError: reports.refused,
  });
  made.limiter = create(await file.start());
  if (options.watch === false) file.close();
  return start(made.limiter, reports, file);
}

function newLimiter(
  config: GatewayConfig,
  dependencies: GatewayDependencies,
  reports: GatewayReports,
): GatewayLimiter {
  const limiter = new GatewayLimiter(checkGatewayConfig(config), {
    ...dependencies,
    newLeaseId: randomUUID,
    onUnreadable: reports.refused,
  });
  limiter.events.on('change', reports.changed);
  return limiter;
}

async function start(
  limiter: GatewayLimiter,
  reports: GatewayReports,
  file?: WatchedFile<GatewayConfig>,
): Promise<Gateway> {
  try {
    await limiter.start();
  } catch (error) {
    file?.close();
    throw error;
  }
  reports.started(limiter);
  return gatewayOf(limiter, file);
}

function gatewayOf(limiter: GatewayLimiter, file?: WatchedFile<GatewayConfig>): Gateway {
  const close = () => {
    file?.close();
    limiter.stop();
  };
  return { limiter, close };
}

/** Optional: files in JSON can be read without it. */
async function yamlPackage(): Promise<YamlPackage | undefined> {
  try {
    return await import('yaml');
  } catch {
    return undefined;
  }
}
