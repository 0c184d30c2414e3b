import { describe, expect, it } from '@jest/globals';
import { InMemoryPlanRegistry } from '../../lib/core/in-memory-plan-registry.js';
import type { PlanDefinition } from '../../lib/core/plan.js';
import { PlanRegistry } from '../../lib/core/plan-registry.js';
import { LayeredPlanRegistry } from '../../lib/nest/layered-plan-registry.js';

/** Plans that have to be waited for. */
class Database extends PlanRegistry {
  override find(name: string): Promise<PlanDefinition | undefined> {
    return Promise.resolve(name === 'gold' || name === 'silver' ? '5/s' : undefined);
  }

  override names(): Promise<readonly string[]> {
    return Promise.resolve(['gold', 'silver']);
  }
}

describe('plans in two layers', () => {
  it('are found in the options first', async () => {
    const layered = new LayeredPlanRegistry(
      new InMemoryPlanRegistry({ gold: '1/s' }),
      new Database(),
    );
    expect(layered.find('gold')).toBe('1/s');
    expect(await layered.find('silver')).toBe('5/s');
    expect(await layered.find('bronze')).toBeUndefined();
  });

  it('are listed once', async () => {
    const written = new InMemoryPlanRegistry({ gold: '1/s', default: '2/s' });
    const layered = new LayeredPlanRegistry(written, new Database());
    expect(await layered.names()).toEqual(['gold', 'default', 'silver']);
  });

  it('change their version when either layer changes', () => {
    const written = new InMemoryPlanRegistry({ gold: '1/s' });
    const own = new InMemoryPlanRegistry();
    const layered = new LayeredPlanRegistry(written, own);
    const versions = [layered.version];
    written.set('gold', '2/s');
    versions.push(layered.version);
    own.set('silver', '2/s');
    versions.push(layered.version);
    own.delete('silver');
    versions.push(layered.version);
    expect(new Set(versions).size).toBe(4);
  });

  it('have no version while one layer has none', () => {
    const layered = new LayeredPlanRegistry(new InMemoryPlanRegistry(), new Database());
    expect(layered.version).toBeUndefined();
  });
});
