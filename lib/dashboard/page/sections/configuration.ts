import type { ConfiguredValue, ValueSource } from '../../configuration/configured-value.js';
import type { DashboardData } from '../../dashboard-data.js';
import type { Chip } from '../cell.js';
import { byId, setText } from '../dom.js';
import { clock, count } from '../format.js';
import { Table } from '../table.js';

/** What every value is, and who said so. */
export class ConfigurationSection {
  readonly #table = new Table<ConfiguredValue>(
    'configuration',
    [
      { head: 'Name', cell: ({ name }) => ({ text: name }) },
      { head: 'Part', cell: ({ part }) => ({ text: part, tone: 'plain' }) },
      { head: 'Value', cell: ({ value }) => value },
      { head: 'Source', cell: ({ source }) => ({ chip: chipOf(source) }) },
    ],
    '',
  );

  update({ configuration, stats: { config } }: DashboardData): void {
    const said = configuration.filter(({ source }) => source !== 'default').length;
    const changes = config.reloads === 0 ? [] : [`${count(config.reloads)} changes while running`];
    const failures = config.failedReloads === 0 ? [] : [`${count(config.failedReloads)} refused`];
    const parts = [
      `${count(configuration.length)} values, ${said === 0 ? 'all of them default' : `${count(said)} set`}`,
      ...changes,
      ...failures,
      `taken over ${clock(config.lastSuccessAtMs)}`,
    ];
    setText(byId('configuration-summary'), parts.join(' · '));
    this.#table.update(configuration);
  }
}

function chipOf(source: ValueSource): Chip {
  return { text: source, tone: source === 'update' ? 'warning' : 'plain' };
}
