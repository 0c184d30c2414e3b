import { URL } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { readPath } from '../../../lib/gateway/routes/request-path.js';
import { workMs } from '../../support/work-ms.js';

/** Pieces that tricks are made of. */
const PIECES = [
  ...['/', '//', '\\', '.', '..', '/./', '/../', '%2e', '%2E', '%2f', '%5C', '%', '%25', '%2'],
  ...['a', 'api', 'b', '%61', '%C3%BC', 'ü', ';', ';x=1', '~', '%7e', '!', '%21', '"', '?', '#'],
];
const tricky = fc.array(fc.constantFrom(...PIECES), { maxLength: 12 }).map((all) => all.join(''));

describe('the path of a request', () => {
  it.each([
    ['/', '/'],
    ['', '/'],
    ['/api', '/api'],
    ['/api/', '/api'],
    ['/api?x=/admin', '/api'],
    ['/api#/admin', '/api'],
    ['?x', '/'],
    ['//api', '/api'],
    ['/api///users', '/api/users'],
    ['/./api/.', '/api'],
    ['/x/../api', '/api'],
    ['/x/%2e%2E/api', '/api'],
    ['/x/.%2e/api', '/api'],
    ['/../../api', '/api'],
    ['/api/..', '/'],
    ['/%61%70%69', '/api'],
    ['/%7euser', '/~user'],
    ['/a%20b', '/a%20b'],
    ['/%c3%bc', '/%C3%BC'],
    ['/\xc3\xbc', '/%C3%BC'],
    ['/\u6f22', '/%E6%BC%A2'],
    ['/\ud800', '/%EF%BF%BD'],
    ['/100%', '/100%25'],
    ['/%252e%252e/api', '/%252e%252e/api'],
    ['/...', '/...'],
    ['/.well-known/x.y', '/.well-known/x.y'],
    ['http://a.com/api?x', '/api'],
    ['HTTP://a.com', '/'],
    ['*', '/*'],
    ['/API', '/API'],
  ])('%j is %s in every reading', (target, path) => {
    expect(readPath(target)).toEqual({ readings: [path], cut: false });
  });

  it.each([
    ['/api%2Fusers', ['/api%2Fusers', '/api/users']],
    ['/api%5cusers', ['/api%5Cusers', '/api/users']],
    ['/api\\users', ['/api/users', '/api%5Cusers']],
    ['/x\\..\\api', ['/api', '/x%5C..%5Capi']],
    ['/api/..%2fx', ['/api/..%2Fx', '/x']],
    ['/x%2f..%2fapi', ['/x%2F..%2Fapi', '/api']],
    ['/a//../api', ['/a/api', '/api']],
    ['/api;v=1/users', ['/api;v=1/users', '/api/users', '/api']],
    ['/x/..;/api', ['/x/..;/api', '/api', '/']],
    ['/api;x/..', ['/', '/api']],
    ['/api%3Bx', ['/api%3Bx', '/api;x', '/api']],
    ['/v1/a%2fb//../../c', ['/v1/c', '/c', '/v1/a/c']],
    ['/a%21', ['/a%21', '/a!']],
    ['/a%3Fb', ['/a%3Fb']],
    ['/a%253Fb', ['/a%253Fb']],
    ['/%00', ['/%00']],
  ])('%j may be any of %j', (target, readings) => {
    expect(readPath(target)).toEqual({ readings, cut: false });
  });

  it('agrees with URL but for empty segments and what may be escaped or not', () => {
    fc.assert(
      fc.property(tricky, (text) => {
        // The second slash would start a host.
        const target = `/x/${text.replaceAll('ü', '%C3%BC')}`;
        const { pathname } = new URL(`http://a.com${target}`);
        expect(readPath(target).readings[0]).toBe(readPath(pathname).readings[0]);
      }),
      { numRuns: 3_000 },
    );
  });

  it('is canonical: what is read first stays the same when it is read again', () => {
    fc.assert(
      fc.property(tricky, (text) => {
        const { readings } = readPath(`/${text}`);
        expect(readings.length).toBe(new Set(readings).size);
        for (const reading of readings) {
          expect(readPath(reading).readings[0]).toBe(reading);
          expect(reading).toMatch(/^\/(?:[!-~]+(?:\/[!-~]+)*)?$/);
          expect(reading).not.toMatch(/[\\?#]|\/\/|\/\.{1,2}(\/|$)/);
        }
      }),
      { numRuns: 3_000 },
    );
  });

  it('is read in time, however long and wicked it is', () => {
    const pieces = [
      '/a',
      '/../',
      '%2e',
      '%',
      '\\',
      ';',
      '/.',
      '//',
      '"',
      '%25',
      ':',
      'a:',
      '?',
      'a/b',
    ];
    const PLAIN = [':', 'a:', '?', 'a/b'];
    const costMs = workMs(() => {
      for (const piece of pieces) {
        expect(readPath(`/${piece.repeat(1_000_000)}`).cut).toBe(!PLAIN.includes(piece));
        expect(readPath(`/${piece.repeat(1_000)}`).cut).toBe(false);
      }
    });
    expect(costMs).toBeLessThan(5_000);
  });
});
