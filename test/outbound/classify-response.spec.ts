import { readdirSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import type { BlockType } from '../../lib/outbound/block-type.js';
import { classifyResponse, mayNeedBody } from '../../lib/outbound/classify-response.js';
import { readRecorded } from './recorded-response.js';
import { workMs } from '../support/work-ms.js';

const HTML = { 'content-type': 'text/html' };
const KIBI_64 = 65_536;

const RECORDED: Record<string, { head: BlockType | undefined; whole: BlockType | undefined }> = {
  'cloudflare-managed-challenge': { head: 'cloudflare_challenge', whole: 'cloudflare_challenge' },
  'turnstile-interstitial': { head: undefined, whole: 'cloudflare_challenge' },
  'cloudflare-under-attack-503': { head: undefined, whole: 'cloudflare_challenge' },
  'cloudflare-error-1020': { head: '403_forbidden', whole: '403_forbidden' },
  'origin-403-behind-cloudflare': { head: '403_forbidden', whole: '403_forbidden' },
  'recaptcha-unusual-traffic-429': { head: '429_rate_limited', whole: 'captcha' },
  'hcaptcha-wall-403': { head: '403_forbidden', whole: 'captcha' },
  'login-with-recaptcha': { head: undefined, whole: undefined },
  'nginx-403': { head: '403_forbidden', whole: '403_forbidden' },
  'api-429': { head: '429_rate_limited', whole: '429_rate_limited' },
  'blank-200': { head: undefined, whole: 'blank_page' },
  'single-page-app': { head: undefined, whole: undefined },
  'no-content': { head: undefined, whole: undefined },
  'json-200': { head: undefined, whole: undefined },
  'image-200': { head: undefined, whole: undefined },
  'maintenance-503': { head: undefined, whole: undefined },
};

function page(status: number, body: string, headers: Record<string, string> = HTML) {
  return classifyResponse({ status, headers, body });
}

/** What it costs when it does not have to be compiled first. */
function leastWorkMs(work: () => void): number {
  return Math.min(workMs(work), workMs(work), workMs(work));
}

describe('a recorded response', () => {
  it('of every file is classified here', () => {
    const files = readdirSync(new URL('responses', import.meta.url));
    expect(files.map((file) => file.replace('.http', '')).sort()).toEqual(
      Object.keys(RECORDED).sort(),
    );
  });

  it.each(Object.entries(RECORDED))('%s is %j', (name, { head, whole }) => {
    const { body, ...rest } = readRecorded(name);
    expect(classifyResponse(rest)).toBe(head);
    expect(classifyResponse({ ...rest, body })).toBe(whole);
  });

  it.each(Object.entries(RECORDED))(
    '%s is the same with a record of headers',
    (name, { whole }) => {
      const { status, headers, body } = readRecorded(name);
      const record = Object.fromEntries(
        [...headers].map(([key, value]) => [key.toUpperCase(), value]),
      );
      expect(classifyResponse({ status, headers: record, body })).toBe(whole);
    },
  );

  it.each(Object.entries(RECORDED))('%s is the same in capitals', (name, { whole }) => {
    const { status, headers, body } = readRecorded(name);
    expect(classifyResponse({ status, headers, body: body.toUpperCase() })).toBe(whole);
  });

  it('may need its body exactly when that can change the answer', () => {
    const needy = Object.keys(RECORDED).filter((name) => mayNeedBody(readRecorded(name)));
    expect(needy.sort()).toEqual([
      'blank-200',
      'cloudflare-error-1020',
      'cloudflare-under-attack-503',
      'hcaptcha-wall-403',
      'login-with-recaptcha',
      'maintenance-503',
      'nginx-403',
      'origin-403-behind-cloudflare',
      'recaptcha-unusual-traffic-429',
      'single-page-app',
      'turnstile-interstitial',
    ]);
  });
});

describe('a Cloudflare challenge', () => {
  it.each([200, 403, 429, 503, 520])('is told by its header, with %d', (status) => {
    const headers = { 'CF-Mitigated': ' Challenge ' };
    expect(classifyResponse({ status, headers })).toBe('cloudflare_challenge');
    expect(mayNeedBody({ status, headers })).toBe(false);
  });

  it('is not told by another value of the header', () => {
    expect(classifyResponse({ status: 403, headers: { 'cf-mitigated': 'none' } })).toBe(
      '403_forbidden',
    );
  });

  it.each([
    '<script>window._cf_chl_opt={}</script>',
    '<script src="/cdn-cgi/challenge-platform/h/b/orchestrate/jsch/v1"></script>',
    '<input name="jschl_vc">',
    '<div class="cf-browser-verification"></div>',
    '<input name="cf_captcha_kind" value="h">',
    '<div class="cf-turnstile" data-sitekey="x"></div>',
  ])('is told by %j', (body) => {
    for (const status of [403, 429, 503]) expect(page(status, body)).toBe('cloudflare_challenge');
    for (const status of [401, 404, 500, 502]) expect(page(status, body)).toBeUndefined();
  });

  it('is told by the script of Turnstile in a refusal', () => {
    const body = '<script src="https://challenges.cloudflare.com/turnstile/v0/api.js"></script>';
    expect(page(403, body)).toBe('cloudflare_challenge');
    expect(page(429, body)).toBe('cloudflare_challenge');
    expect(page(503, body)).toBeUndefined();
    expect(page(200, body)).toBeUndefined();
  });

  it.each([
    [{ server: 'cloudflare' }],
    [{ server: ' Cloudflare-nginx' }],
    [{ server: 'hidden', 'cf-ray': '8f00-FRA' }],
  ])('is told by its title when it comes with %j', (headers) => {
    const body = '<title>\n  Just a moment... </title>';
    const all = { ...HTML, ...headers };
    expect(page(503, body, all as Record<string, string>)).toBe('cloudflare_challenge');
    expect(page(503, '<title>Just a moment…</title>', all as Record<string, string>)).toBe(
      'cloudflare_challenge',
    );
  });

  it('is not told by a title that anybody may have', () => {
    expect(page(503, '<title>Just a moment...</title>')).toBeUndefined();
    const cloudflare = { ...HTML, server: 'cloudflare' };
    expect(page(503, '<title>Just a moment in time</title>', cloudflare)).toBeUndefined();
    expect(page(200, '<title>Just a moment...</title>x', cloudflare)).toBeUndefined();
  });

  it('wins over a captcha', () => {
    const body = '<div class="g-recaptcha" data-sitekey="x"></div><script>_cf_chl_opt={}</script>';
    expect(page(403, body)).toBe('cloudflare_challenge');
  });
});

describe('a captcha', () => {
  const element = '<div class="g-recaptcha" data-sitekey="x"></div>';

  it.each([
    element,
    '<DIV CLASS = "box g-recaptcha"\n DATA-SITEKEY=x>',
    '<div data-sitekey="x" class="h-captcha"></div>',
    `${element}<textarea name="g-recaptcha-response"></textarea>`,
    `${element}<input type = "hidden"><input type=submit><input type='checkbox'>`,
    `<script>${'x'.repeat(9_000)}</script><style>${'y'.repeat(9_000)}</style>${element}`,
    `${element}<p>${'a b '.repeat(750)}</p>`,
  ])('is a wall when it stands alone (case %#)', (body) => {
    expect(page(200, body)).toBe('captcha');
    expect(page(503, body)).toBe('captcha');
  });

  it.each([
    `${element}<input type="password">`,
    `${element}<input name="q">`,
    `${element}<textarea name="comment"></textarea>`,
    `${element}<p>${'a b '.repeat(751)}</p>`,
    `<!-- ${element} --><p>x</p>`,
    `<script>var html = '${element}';</script><div id="root"></div>`,
    '<script src="https://www.google.com/recaptcha/api.js?render=x"></script><div id="root"></div>',
    '<div class="g-recaptcha" data-sitekey="x" data-size="invisible"></div><app-root></app-root>',
    '<textarea name="g-recaptcha-response"></textarea>',
  ])('is a widget beside anything else (case %#)', (body) => {
    expect(page(200, body)).toBeUndefined();
    expect(page(503, body)).toBeUndefined();
  });

  it.each([
    '<script src="https://www.google.com/recaptcha/api.js"></script>',
    '<script src="https://www.recaptcha.net/recaptcha/enterprise.js"></script>',
    '<script src="https://hcaptcha.com/1/api.js"></script>',
    '<div id=g-recaptcha></div>',
    `${element}<input type="password">`,
  ])('is the reason of a refusal with any trace of it: %s', (body) => {
    expect(page(403, body)).toBe('captcha');
    expect(page(429, body)).toBe('captcha');
  });

  it('is looked for in pages alone', () => {
    const json = { 'content-type': 'application/json' };
    expect(page(403, JSON.stringify(element), json)).toBe('403_forbidden');
    expect(page(200, element, { 'content-type': 'text/plain' })).toBeUndefined();
    expect(page(200, element, { 'content-type': ' Text/HTML ;charset=x' })).toBe('captcha');
    expect(page(200, element, { 'content-type': 'application/xhtml+xml' })).toBe('captcha');
    expect(page(200, element, {})).toBe('captcha');
    expect(page(404, element)).toBeUndefined();
    expect(page(206, element)).toBeUndefined();
  });
});

describe('a blank page', () => {
  it.each([
    '',
    ' \r\n\t ',
    '\ufeff',
    '<html></html>',
    '<html><head></head><body></body></html>',
    '<BODY>\n</BODY>',
    '<body class="a > b">&nbsp;<!-- nothing --><br></body>',
    '<title>A title alone</title><meta name="robots" content="none"><body><div><p></p></div>',
  ])('is %j', (body) => {
    for (const status of [200, 201, 203, 226]) expect(page(status, body)).toBe('blank_page');
    expect(page(200, body, {})).toBe('blank_page');
    for (const status of [204, 205, 206, 304, 302, 404, 500, 503]) {
      expect(page(status, body)).toBeUndefined();
    }
    expect(page(403, body)).toBe('403_forbidden');
    expect(page(200, body, { 'content-type': 'application/json' })).toBeUndefined();
    expect(page(200, body, { 'content-type': 'text/plain' })).toBeUndefined();
  });

  it.each([
    'x',
    '<body>.</body>',
    '<div id="root"></div><script src="/app.js"></script>',
    '<img src="a.png">',
    '<iframe src="/"></iframe>',
    '<svg></svg>',
    '<frameset><frame src="/"></frameset>',
    '<meta http-equiv="refresh" content="0; url=/next">',
    '<form><input></form>',
    '<noscript>Please turn on JavaScript.</noscript>',
    '<body><!-- cut',
    '<style>a {',
    '<body',
    ' '.repeat(KIBI_64),
  ])('is not one that shows or may show something (case %#)', (body) => {
    expect(page(200, body)).toBeUndefined();
  });

  it('is not known without its body', () => {
    expect(classifyResponse({ status: 200, headers: HTML })).toBeUndefined();
    expect(classifyResponse({ status: 200, headers: { ...HTML, 'content-length': 0 } })).toBe(
      undefined,
    );
  });

  it.each([
    ['get', 'blank_page'],
    ['GET', 'blank_page'],
    [undefined, 'blank_page'],
    ['HEAD', undefined],
    ['POST', undefined],
    ['put', undefined],
    ['DELETE', undefined],
  ])('answers %s: %s', (method, type) => {
    expect(classifyResponse({ status: 200, headers: HTML, body: '', method })).toBe(type);
  });
});

describe('a status', () => {
  it.each([
    [403, '403_forbidden'],
    [429, '429_rate_limited'],
    [200, undefined],
    [301, undefined],
    [401, undefined],
    [404, undefined],
    [500, undefined],
    [503, undefined],
    [Number.NaN, undefined],
  ])('%d alone is %s', (status, type) => {
    expect(classifyResponse({ status, headers: {} })).toBe(type);
    expect(classifyResponse({ status, headers: {}, method: 'HEAD', body: '' })).toBe(type);
  });
});

describe('the body', () => {
  it.each([
    [{ status: 200, headers: HTML }, true],
    [{ status: 200, headers: {} }, true],
    [{ status: 201, headers: HTML, method: 'POST' }, true],
    [{ status: 403, headers: HTML }, true],
    [{ status: 429, headers: {} }, true],
    [{ status: 503, headers: HTML }, true],
    [{ status: 200, headers: { 'content-type': 'application/json' } }, false],
    [{ status: 429, headers: { 'content-type': 'application/problem+json' } }, false],
    [{ status: 200, headers: { 'content-type': 'text/html-sandboxed' } }, false],
    [{ status: 200, headers: { 'content-type': 'image/png' } }, false],
    [{ status: 200, headers: HTML, method: 'head' }, false],
    [{ status: 204, headers: HTML }, false],
    [{ status: 205, headers: HTML }, false],
    [{ status: 206, headers: HTML }, false],
    [{ status: 304, headers: HTML }, false],
    [{ status: 404, headers: HTML }, false],
    [{ status: 500, headers: HTML }, false],
  ])('of %j may be needed: %s', (head, needed) => {
    expect(mayNeedBody(head)).toBe(needed);
  });
});

describe('hostile text of 64 KiB', () => {
  const pieces = [
    '<',
    '<a',
    '<a ',
    '<a "',
    '<a ="',
    '<a = ',
    '</',
    '<!',
    '<!--',
    '<script>',
    '<title>',
    '<title',
    '<textarea></textarea>',
    '&nbsp;',
    '&nbsp',
    ' ',
    '\u200b ',
    '>',
    '"',
    '<p>',
    '<input type = ',
    '<div g-recaptcha>',
    'g-recaptch',
    '_cf_chl',
    '/cdn-cgi/challenge-platform/',
    'challenges.cloudflare.com'.slice(0, -1),
    'data-sitekey g-recaptcha cf-turnstile ',
    'type',
    'İ',
  ];

  it.each(pieces.flatMap((piece) => [200, 403, 503].map((status) => ({ piece, status }))))(
    'made of $piece ($status) is less than 50 ms of work',
    ({ piece, status }) => {
      const body = piece.repeat(Math.ceil(KIBI_64 / piece.length));
      const headers = { 'content-type': `text/html${' '.repeat(KIBI_64)}x`, server: body };
      const costMs = leastWorkMs(() => {
        classifyResponse({ status, headers: HTML, body });
        classifyResponse({ status, headers, body: `<p ${body}>` });
      });
      expect(costMs).toBeLessThan(50);
    },
  );

  it('is read no further than that', () => {
    expect(page(403, `${'x'.repeat(KIBI_64)}<div class="g-recaptcha">`)).toBe('403_forbidden');
  });
});
