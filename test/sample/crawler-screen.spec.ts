import { describe, expect, it } from '@jest/globals';
import type { Line } from '../../sample/02-crawler/screen.js';
import { Screen } from '../../sample/02-crawler/screen.js';

const IDLE: Line = { domain: 'docs.test', perSecond: 3, waiting: 12, requests: 7, cooldownMs: 0 };
const COOLING: Line = { ...IDLE, domain: 'news.test', perSecond: 0, cooldownMs: 1_420 };
const IDLE_TEXT = 'docs.test    3/s  12 waiting    7 sent  ▇▇▇';
const COOLING_TEXT = 'news.test    0/s  12 waiting    7 sent  cooldown 1.4 s';
/** Up to where the two lines began, and away with them. */
const BACK = '\x1b[2A\x1b[J';

/** A screen, and all that was written to it. */
function screenOn({ isTTY = true, columns = 80, colors = false }) {
  const written: string[] = [];
  const write = (text: string) => written.push(text) > 0;
  const screen = new Screen({ isTTY, columns, write, hasColors: () => colors });
  return { screen, text: () => written.join('') };
}

describe('the screen of the crawler', () => {
  it('changes its lines in place in a terminal, a few times a second', () => {
    const { screen, text } = screenOn({});
    screen.draw([IDLE, COOLING]);
    screen.draw([COOLING, IDLE]);
    expect(text()).toBe(
      `${IDLE_TEXT}\n${COOLING_TEXT}\n` + `${BACK}${COOLING_TEXT}\n${IDLE_TEXT}\n`,
    );
    expect(screen.intervalMs).toBe(200);
  });

  it('says things above the lines', () => {
    const { screen, text } = screenOn({});
    screen.say('Hello');
    screen.draw([IDLE, COOLING]);
    screen.say('worker 1: pushed back');
    const lines = `${IDLE_TEXT}\n${COOLING_TEXT}\n`;
    expect(text()).toBe(`Hello\n${lines}${BACK}worker 1: pushed back\n${lines}`);
  });

  it('lets no line wrap, which would be one more to go up', () => {
    const { screen, text } = screenOn({ columns: 20 });
    screen.draw([IDLE]);
    expect(text()).toBe(`${IDLE_TEXT.slice(0, 19)}\n`);
  });

  it('has a colour for cooldowns where there are colours', () => {
    const { screen, text } = screenOn({ colors: true });
    screen.draw([IDLE, COOLING]);
    expect(text()).toBe(`${IDLE_TEXT}\n\x1b[33m${COOLING_TEXT}\x1b[39m\n`);
  });

  it('writes one line after another anywhere else, once a second', () => {
    const { screen, text } = screenOn({ isTTY: false, columns: 20, colors: true });
    screen.draw([IDLE, COOLING]);
    screen.say('worker 1: pushed back');
    screen.draw([IDLE]);
    expect(text()).toBe(`${IDLE_TEXT}\n${COOLING_TEXT}\nworker 1: pushed back\n${IDLE_TEXT}\n`);
    expect(screen.intervalMs).toBe(1_000);
  });
});
