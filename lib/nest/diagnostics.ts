import cluster from 'node:cluster';
import type { OnApplicationBootstrap } from '@nestjs/common';
import { Inject, Injectable, Logger } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { RequestSource } from '../core/keys/key-resolver.js';
import type { DiagnosisCode } from './diagnosis.js';
import { DIAGNOSES } from './diagnosis.js';
import { ForwardedClients } from './forwarded-clients.js';
import type { CheckedOptions } from './rate-limit-options.js';
import { CHECKED_OPTIONS } from './rate-limit.module-definition.js';
import { trustedProxies } from './trusted-proxies.js';

/** Things that are remembered as told, so that none is told twice. */
const MAX_TOLD = 1_000;
/** Requests that are looked at: a proxy that has not shown by then is not there. */
const MAX_LOOKS = 10_000;

/** Tells what looks wrong around the application: each thing once, in the log. */
@Injectable()
export class Diagnostics implements OnApplicationBootstrap {
  readonly #logger = new Logger('RateLimit');
  readonly #told = new Set<string>();
  readonly #clients = new ForwardedClients();
  #looks = 0;
  #isWatching: boolean;

  constructor(
    private readonly adapterHost: HttpAdapterHost,
    @Inject(CHECKED_OPTIONS) private readonly options: CheckedOptions,
  ) {
    this.#isWatching = options.diagnostics;
  }

  /** Whether anything is told at all. */
  get isOn(): boolean {
    return this.options.diagnostics;
  }

  /** Whether requests are still to be looked at: not for long. */
  get isWatching(): boolean {
    return this.#isWatching;
  }

  onApplicationBootstrap(): void {
    if (!this.options.diagnostics) return;
    const { redis, store } = this.options;
    if (redis === undefined && store === undefined && isOneOfSeveral()) {
      this.#tell('SEVERAL_PROCESSES');
    }
    if (this.#trusted() === true) this.#tell('TRUST_PROXY_TRUE');
  }

  /** Looks at a request, until everything about addresses has been told or ruled out. */
  look(request: RequestSource): void {
    if (++this.#looks >= MAX_LOOKS) this.#isWatching = false;
    const forwarded = request.headers?.['x-forwarded-for'];
    if (forwarded === undefined) return;
    const code = this.#diagnose(request, String(forwarded));
    if (code) this.#tell(code);
  }

  #diagnose(request: RequestSource, forwarded: string): DiagnosisCode | undefined {
    const trusted = this.#trusted();
    if (trusted === undefined) return this.#stop(undefined);
    // Asked again: Express may be told after it has started.
    if (trusted === true) return this.#stop('TRUST_PROXY_TRUE');
    if (!trusted) return this.#stop('FORWARDED_FOR_IGNORED');
    const isIgnored = request.ip === request.socket?.remoteAddress;
    const isFastify = this.adapterHost.httpAdapter.getType() === 'fastify';
    if (isFastify && typeof trusted === 'number' && isIgnored) {
      return this.#stop('TRUST_PROXY_NUMBER');
    }
    this.#clients.add(request.ip, forwarded);
    if (this.#clients.shareOneAddress) return this.#stop('ONE_ADDRESS');
    return this.#clients.haveSeveralAddresses ? this.#stop(undefined) : undefined;
  }

  #stop(code: DiagnosisCode | undefined): DiagnosisCode | undefined {
    this.#isWatching = false;
    return code;
  }

  #trusted(): unknown {
    // An application context without HTTP has no adapter.
    const { httpAdapter } = this.adapterHost as Partial<HttpAdapterHost>;
    return httpAdapter && trustedProxies(httpAdapter);
  }

  /** Warns of something in one place, such as a handler: once for each. */
  warn(code: DiagnosisCode, place: string): void {
    if (this.options.diagnostics) this.#tell(code, `${place}. `);
  }

  #tell(code: DiagnosisCode, place = ''): void {
    const told = code + place;
    if (this.#told.has(told) || this.#told.size >= MAX_TOLD) return;
    this.#told.add(told);
    this.#logger.warn(`${code}: ${place}${DIAGNOSES[code]} (diagnostics: false silences this.)`);
  }
}

/** PM2 numbers the instances of an application, and runs a single one as a worker, too. */
function isOneOfSeveral(): boolean {
  const instance = process.env['NODE_APP_INSTANCE'];
  return instance === undefined ? cluster.isWorker : Number(instance) > 0;
}
