import type { HeldSlots } from '../../core/held-slots.js';
import type { DiagnosisCode } from '../diagnosis.js';
import type { Diagnostics } from '../diagnostics.js';
import { reportLostRelease } from '../release-when-done.js';

/** Gives back slots that their holder did not, and says whose they were. */
export function endSlots(slots: HeldSlots, why: DiagnosisCode, diagnostics: Diagnostics): void {
  const { place = 'A lease, at a place that was not noted', held } = slots;
  const plans = new Set(held?.limits.map(({ plan }) => `"${plan.name}"`));
  diagnostics.warn(why, `${place}, plan ${[...plans].join(', ')}`);
  slots.giveBack().catch(reportLostRelease);
}
