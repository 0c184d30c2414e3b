// @ts-check
import { relative } from 'node:path';

/** @typedef {{ readonly path: string }} Test */

/** Runs specs in the order in which trial.mjs names them. */
export default class GivenOrder {
  /** @param {readonly Test[]} tests */
  sort(tests) {
    /** @type {string[]} */
    const order = JSON.parse(process.env['MUTANT_SPECS'] ?? '[]');
    /** @param {Test} test */
    const rank = ({ path }) => order.indexOf(relative(process.cwd(), path));
    return [...tests].sort((a, b) => rank(a) - rank(b));
  }

  allFailedTests() {
    return [];
  }

  cacheResults() {}
}
