import type { Cell } from './cell.js';
import { paint } from './cell.js';
import { byId, make } from './dom.js';

/** One column of a table. */
export interface Column<Row> {
  readonly head: string;
  readonly isNumber?: boolean;
  readonly cell: (row: Row) => Cell | string;
}

/** A table of the page. Only cells that differ from before are touched. */
export class Table<Row> {
  readonly #table: HTMLTableElement;
  readonly #body = make('tbody');
  readonly #painted = new WeakMap<HTMLElement, string>();

  constructor(
    id: string,
    private readonly columns: readonly Column<Row>[],
    /** What stands there while there is nothing. */
    private readonly nothing: string,
  ) {
    this.#table = byId<HTMLTableElement>(id);
    const head = make('tr');
    for (const { head: text, isNumber } of columns) {
      const cell = make('th', isNumber ? 'number' : '', text);
      cell.scope = 'col';
      head.append(cell);
    }
    const heads = make('thead');
    heads.append(head);
    this.#table.append(heads, this.#body);
  }

  set hidden(hidden: boolean) {
    this.#table.hidden = hidden;
  }

  update(rows: readonly Row[]): void {
    this.#table.classList.toggle('is-empty', rows.length === 0);
    if (rows.length === 0) return this.#showNothing();
    if (this.#body.rows[0]?.classList.contains('nothing')) this.#body.replaceChildren();
    while (this.#body.rows.length > rows.length) this.#body.deleteRow(-1);
    while (this.#body.rows.length < rows.length) this.#body.append(this.#newRow());
    rows.forEach((row, index) => this.#paintRow(this.#body.rows[index]!, row));
  }

  #newRow(): HTMLTableRowElement {
    const row = make('tr');
    this.columns.forEach(({ isNumber }, index) => {
      const cell = make(index === 0 ? 'th' : 'td', isNumber ? 'number' : '');
      if (index === 0) cell.scope = 'row';
      row.append(cell);
    });
    return row;
  }

  #paintRow(element: HTMLTableRowElement, row: Row): void {
    this.columns.forEach((column, index) => {
      const said = column.cell(row);
      const cell = typeof said === 'string' ? { text: said } : said;
      const place = element.cells[index]!;
      const looks = JSON.stringify(cell);
      if (this.#painted.get(place) === looks) return;
      this.#painted.set(place, looks);
      paint(place, cell);
    });
  }

  #showNothing(): void {
    const row = make('tr', 'nothing');
    const cell = make('td', 'quiet', this.nothing);
    cell.colSpan = this.columns.length;
    row.append(cell);
    this.#body.replaceChildren(row);
  }
}
