import { make } from './dom.js';

/** What a colour says. */
export type Tone = 'good' | 'warning' | 'bad' | 'plain';

/** A short word in a frame. */
export interface Chip {
  readonly text: string;
  readonly tone: Tone;
}

/** What stands in a cell of a table. */
export interface Cell {
  readonly text?: string;
  /** Beside the text, in a quieter voice. */
  readonly detail?: string;
  readonly chip?: Chip | undefined;
  /** A bar from 0 to 1. */
  readonly share?: number;
  readonly tone?: Tone;
  /** Whether it is part of what the row above it tells. */
  readonly isIndented?: boolean;
}

/** From here on a limit is nearly reached. */
const NEAR = 0.8;

/** Puts a description into an element. */
export function paint(element: HTMLElement, cell: Cell): void {
  const { text, detail, chip, share, tone, isIndented } = cell;
  const parts: Node[] = [];
  if (share !== undefined) parts.push(bar(share));
  if (text) parts.push(make('span', tone ? `tone-${tone}` : '', text));
  if (detail) parts.push(make('small', '', detail));
  if (chip) parts.push(make('span', `chip chip-${chip.tone}`, chip.text));
  element.classList.toggle('is-indented', isIndented === true);
  element.replaceChildren(...parts.flatMap((part, i) => (i === 0 ? [part] : [' ', part])));
}

function bar(share: number): HTMLElement {
  const full = Math.min(1, Math.max(0, share));
  const frame = make('span', 'bar');
  // The number beside it says the same.
  frame.setAttribute('aria-hidden', 'true');
  const fill = make('span', full >= 1 ? 'bar-full' : full >= NEAR ? 'bar-near' : '');
  fill.style.setProperty('width', `${full * 100}%`);
  frame.append(fill);
  return frame;
}
