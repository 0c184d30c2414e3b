import type { OnApplicationShutdown } from '@nestjs/common';
import { Logger } from '@nestjs/common';
import type { DocumentStore } from '../../core/document-store.js';
import type { KeyResolvers } from '../../core/keys/key-resolvers.js';
import type { Gateway } from '../../gateway/create-gateway.js';
import { createGateway } from '../../gateway/create-gateway.js';
import type { GatewayObserver } from '../../gateway/gateway-reports.js';
import type { Observation } from '../../observe/observation.js';
import type { Observed } from '../observed.js';
import type { CheckedOptions } from '../rate-limit-options.js';
import type { PathCase } from './path-case.js';

const LOG_METHODS = { info: 'log', warn: 'warn', error: 'error' } as const;

/** The gateway of an application, closed with it. */
export class ApplicationGateway implements OnApplicationShutdown {
  constructor(private readonly gateway: Gateway) {}

  get limiter(): Gateway['limiter'] {
    return this.gateway.limiter;
  }

  onApplicationShutdown(): void {
    this.gateway.close();
  }
}

/** Makes the gateway that the options ask for. */
export async function gatewayFor(
  { gateway }: CheckedOptions,
  { store, keeper, observation }: Observed,
  documents: DocumentStore | undefined,
  resolvers: KeyResolvers,
  pathCase: PathCase,
): Promise<ApplicationGateway> {
  const addresses = resolvers.from('ip');
  const made = await createGateway(gateway, {
    ...{ store, keeper, documents },
    keyOfClient: (ip) => (addresses.resolve({ ip }) as string | undefined) ?? ip,
    isCaseSensitive: () => pathCase.counts,
    observer: observerOf(observation),
  });
  return new ApplicationGateway(made);
}

function observerOf({ config, tally }: Observation): GatewayObserver {
  const logger = new Logger('RateLimit');
  return {
    onLimit: ({ plan, seenAs }) => tally.policies.declare(plan, seenAs),
    onChange: (what) => config.changed('gateway', what),
    onRefused: (reason) => config.refused('gateway', reason),
    log: (level, line) => logger[LOG_METHODS[level]](line),
  };
}
