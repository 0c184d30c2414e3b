// @ts-check
import { appendFileSync } from 'node:fs';

/**
 * @typedef {{ testFilePath: string, testExecError?: unknown, perfStats: { start: number, end: number },
 *   testResults: { status: string, fullName: string }[] }} TestResult
 */
/** @typedef {{ spec: string, ms: number, isFailed: boolean, test?: string }} Line */

/** Writes a line about each spec when it ends: a run that is cut short has no report of Jest's. */
export default class LineReporter {
  /**
   * @param {unknown} _test
   * @param {TestResult} result
   */
  onTestResult(_test, { testFilePath, testExecError, perfStats, testResults }) {
    const failed = testResults.find(({ status }) => status === 'failed');
    const isFailed = Boolean(failed ?? testExecError);
    /** @type {Line} */
    const line = { spec: testFilePath, ms: perfStats.end - perfStats.start, isFailed };
    if (isFailed) line.test = failed?.fullName ?? 'does not load';
    appendFileSync(process.env['MUTANT_REPORT'] ?? '', `${JSON.stringify(line)}\n`);
  }

  getLastError() {}
}
