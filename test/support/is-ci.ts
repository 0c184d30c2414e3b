/** Whether nobody would read that something was skipped. */
export function isCi(): boolean {
  return !['', '0', 'false'].includes(process.env['CI'] ?? '');
}
