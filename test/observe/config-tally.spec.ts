import { describe, expect, it } from '@jest/globals';
import { ConfigTally } from '../../lib/observe/config-tally.js';
import { newTopics } from '../../lib/observe/topics.js';

describe('changes of limits while running', () => {
  it('are counted and told, those that are refused too, and only success has a time', () => {
    let timeMs = 1_000;
    const topic = newTopics().config;
    const tally = new ConfigTally(topic, () => timeMs);
    const heard: unknown[] = [];
    const listener = (message: unknown) => heard.push(message);
    expect(tally.snapshot()).toEqual({ reloads: 0, failedReloads: 0, lastSuccessAtMs: 1_000 });
    topic.add(listener);
    timeMs = 2_000;
    tally.changed('gateway', 'one');
    timeMs = 3_000;
    tally.refused('gateway', 'two');
    topic.delete(listener);
    tally.refused('gateway', 'three');
    expect(tally.snapshot()).toEqual({ reloads: 1, failedReloads: 2, lastSuccessAtMs: 2_000 });
    expect(heard).toEqual([
      { source: 'gateway', result: 'success', detail: 'one' },
      { source: 'gateway', result: 'error', detail: 'two' },
    ]);
  });
});
