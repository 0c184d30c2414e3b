import { Logger } from '@nestjs/common';
import type { DocumentStore } from '../core/document-store.js';
import { lacksDocuments } from '../core/document-store.js';
import type { Observation } from '../observe/observation.js';
import { SharedRules } from '../outbound/shared-rules.js';
import { SharedPlans } from '../shared/plans/shared-plans.js';
import type { Outbound } from './outbound.js';
import type { CheckedOptions } from './rate-limit-options.js';

const logger = new Logger('RateLimit');

/** Stands where the option is not set: a change is refused, and nothing is listened to. */
const SWITCHED_OFF: DocumentStore = {
  readDocument: refuse,
  replaceDocument: refuse,
  watchDocument: refuse,
};

/** The plans that all processes share. */
export async function sharedPlansFor(
  options: CheckedOptions,
  documents: DocumentStore | undefined,
  { config }: Observation,
): Promise<SharedPlans> {
  const plans = new SharedPlans(documentsFor(options, documents), (problem) => {
    config.refused('plans', problem);
    logger.error(problem);
  });
  if (options.sharedChanges) await plans.start();
  return plans;
}

/** The rules of outbound calls that all processes share. */
export async function sharedRulesFor(
  options: CheckedOptions,
  documents: DocumentStore | undefined,
  { config }: Observation,
  outbound: Outbound,
): Promise<SharedRules> {
  const report = (problem: string) => {
    config.refused('outbound', problem);
    logger.error(problem);
  };
  const rules = new SharedRules(
    documentsFor(options, documents),
    (changes) => void outbound.overlay(changes),
    report,
  );
  if (options.sharedChanges) await rules.start();
  return rules;
}

function documentsFor(
  { sharedChanges }: CheckedOptions,
  documents: DocumentStore | undefined,
): DocumentStore {
  if (!sharedChanges) return SWITCHED_OFF;
  if (documents) return documents;
  throw lacksDocuments('Shared changes (the option `sharedChanges`)');
}

function refuse(): never {
  throw new Error('the option `sharedChanges` is not set. Set it to true in all processes.');
}
