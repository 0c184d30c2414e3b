import { describe, expect, it } from '@jest/globals';
import { RoutePattern } from '../../../lib/nest/gateway/route-pattern.js';

const pattern = (path: string) => new RoutePattern(path);

describe('the pattern of a route', () => {
  it.each([
    ['/', '/', true],
    ['/health', '/health', true],
    ['/health', '/Health', false],
    ['/health', '/health/x', false],
    ['/users/:id', '/users/7', true],
    ['/users/:id', '/users', false],
    ['/users/:id/posts', '/users/7/posts', true],
  ])('%s matches %s: %s', (path, target, matches) => {
    expect(pattern(path).isClear).toBe(true);
    expect(pattern(path).matches(target)).toBe(matches);
  });

  it.each(['/*path', '/{*path}', '/*', '/users/:id.png', '/:id(\\d+)', '/a{/b}', '/x/:id?', '/a+'])(
    '%s is not clear',
    (path) => {
      expect(pattern(path).isClear).toBe(false);
    },
  );

  it.each([
    ['/health', '/HEALTH', true],
    ['/health', '/:page', true],
    ['/health', '/:page/x', false],
    ['/health', '/*path', true],
    ['/health', '/health/{*path}', true],
    ['/health', '/health/:id', false],
    ['/users/:id', '/users/me', true],
    ['/users/:id', '/posts/:id', false],
    ['/users/:id', '/:kind/me', true],
    ['/users/:id', '/users/:id.png', true],
  ])('%s overlaps %s: %s', (one, other, overlaps) => {
    expect(pattern(one).overlaps(pattern(other))).toBe(overlaps);
    expect(pattern(other).overlaps(pattern(one))).toBe(overlaps);
  });
});
