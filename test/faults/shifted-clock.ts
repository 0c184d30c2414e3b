import { spawnSync } from 'node:child_process';
import { closeSync, constants, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const SOURCE = join(import.meta.dirname, 'clock-shim.c');

/** Whether this machine can build what shifts a server's clock. */
export const HAS_COMPILER = spawnSync('cc', ['--version']).status === 0;

/** A clock that servers started with its `env` go by, and that can be set while they run. */
export class ShiftedClock {
  readonly #folder = mkdtempSync(join(tmpdir(), 'floodgate-clock-'));
  readonly #library = join(this.#folder, 'clock-shim.so');

  /** Compiles the shim. A compiler that fails is an error: only its absence excuses anything. */
  constructor() {
    const { status, stderr } = spawnSync(
      'cc',
      ['-shared', '-fPIC', '-O1', '-o', this.#library, SOURCE],
      { encoding: 'utf8' },
    );
    if (status !== 0) throw new Error(`The clock shim does not compile: ${stderr}`);
  }

  /** Environment of a server that goes by a hand of its own, at the right time for now. */
  hand(name: string): ClockHand {
    const file = join(this.#folder, name);
    const hand = {
      env: { LD_PRELOAD: this.#library, CLOCK_SHIFT_FILE: file },
      setMs: (shiftMs: number) => writeShift(file, shiftMs),
    };
    hand.setMs(0);
    return hand;
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** The clock of one server. */
export interface ClockHand {
  readonly env: NodeJS.ProcessEnv;
  /** Moves the server's clock away from the right time, by so much in all. */
  setMs(shiftMs: number): void;
}

function writeShift(file: string, shiftMs: number): void {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64LE(BigInt(shiftMs) * 1_000n);
  // In place: the server has the file mapped.
  const descriptor = openSync(file, constants.O_RDWR | constants.O_CREAT);
  writeSync(descriptor, bytes);
  closeSync(descriptor);
}
