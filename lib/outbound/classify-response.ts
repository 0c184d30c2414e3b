import type { BlockType } from './block-type.js';
import type { HtmlPage, HtmlTag } from './html-page.js';
import { readHtmlPage } from './html-page.js';
import type { ResponseHeaders } from './response-headers.js';
import { headerOf } from './response-headers.js';

/** The head of a response. */
export interface ResponseHead {
  /** The status code of the answer. */
  readonly status: number;
  /** The headers of the answer. */
  readonly headers: ResponseHeaders;
  /**
   * The method of the request.
   * @default 'GET'
   */
  readonly method?: string;
}

/** A response, as far as telling a block from an answer needs it. */
export interface ResponseSource extends ResponseHead {
  /** The text of the body; its first 64 KiB are enough. Without it the head decides alone. */
  readonly body?: string;
}

/** A puzzle for visitors: what its script, and what its element looks like. */
interface Widget {
  readonly trace: RegExp;
  readonly element: RegExp;
}

/** More text than this, white space not counted, is a page with a widget, not a wall. */
const WALL_CHARS = 1_500;
const HTML_TYPE = /^(?:text\/html|application\/xhtml\+xml)\s*(?:;|$)/i;
/** What Cloudflare's own challenge pages are made of, today's and those of "under attack" mode. */
const CHALLENGE_PAGE =
  /_cf_chl_|\/cdn-cgi\/challenge-platform\/[^"'\s]{0,40}orchestrate|jschl[_-]|cf-browser-verification|cf_captcha_kind/;
const CHALLENGE_TITLE = /^just a moment(?:\.{3}|…)$/;

const TURNSTILE: Widget = {
  trace: /cf-turnstile|challenges\.cloudflare\.com/,
  element: /cf-turnstile/,
};
const CAPTCHA: Widget = {
  trace: /g-recaptcha|h-captcha|\/recaptcha\/(?:api|enterprise)|hcaptcha\.com\//,
  element: /g-recaptcha|h-captcha/,
};

/** Fields that nobody types into: buttons and boxes, and those that the widgets bring along. */
const UNTYPED_FIELD =
  /(?:captcha|turnstile)-response|type\s{0,9}=\s{0,9}["']?(?:hidden|submit|button|image|checkbox|radio|reset)/;
/** Elements that show nothing by themselves. Any other may, so that a page with it is not blank. */
const SILENT_ELEMENTS: ReadonlySet<string> = new Set(
  (
    'html head title meta link base style body noscript ' +
    'div span p br main section article header footer'
  ).split(' '),
);

/**
 * Tells how a response blocks the caller; undefined when it does not. The most specific answer wins:
 *
 * 1. `cloudflare_challenge`: the header `cf-mitigated: challenge`; or a 403, 429 or 503 with one of
 *    Cloudflare's challenge pages; or a Turnstile wall. A refusal by a Cloudflare rule ("error 1020")
 *    offers nothing to solve and is what its status says, and so is a refusal by a site whose pages
 *    merely carry Cloudflare's detection script.
 * 2. `captcha`: a reCAPTCHA or hCaptcha wall.
 * 3. `429_rate_limited` and 4. `403_forbidden`: by status, whatever the body.
 * 5. `blank_page`: a page that was asked for with GET, came with 2xx, and shows nothing: white space,
 *    or elements without text. A script may draw the page, so a page with a script is not blank.
 *
 * A widget makes a wall when the page is there for nothing else. With 403 and 429 any trace of it is
 * enough: the request was refused, and this says why. With 2xx and 503 the page has to show the
 * widget's element, at most 1500 visible characters, and no field to type into: a widget that guards
 * a form stands beside the form's fields, one that guards the site stands alone.
 *
 * Bodies count only of HTML, or of what has no content type, and only with the statuses above.
 */
export function classifyResponse(response: ResponseSource): BlockType | undefined {
  if (isMarkedAsChallenge(response)) return 'cloudflare_challenge';
  const page = pageOf(response);
  if (page && isChallenge(response, page)) return 'cloudflare_challenge';
  if (page && isWall(response, page, CAPTCHA)) return 'captcha';
  if (response.status === 429) return '429_rate_limited';
  if (response.status === 403) return '403_forbidden';
  return page && wantsPage(response) && isBlank(page) ? 'blank_page' : undefined;
}

/**
 * Tells whether the beginning of the body could change what the head says, so that nobody reads
 * JSON, images or downloads for it. It can for HTML, or what has no content type, that answers with
 * 403, 429, 503, or a 2xx that comes with a whole body.
 */
export function mayNeedBody(response: ResponseHead): boolean {
  return !isMarkedAsChallenge(response) && mayBePage(response);
}

function isMarkedAsChallenge({ headers }: ResponseHead): boolean {
  return headerOf(headers, 'cf-mitigated')?.toLowerCase() === 'challenge';
}

function pageOf(response: ResponseSource): HtmlPage | undefined {
  const { body } = response;
  return typeof body === 'string' && mayBePage(response) ? readHtmlPage(body) : undefined;
}

function mayBePage({ status, headers, method }: ResponseHead): boolean {
  if (method?.toUpperCase() === 'HEAD') return false;
  if (!isRefusal(status) && !isWholeAnswer(status)) return false;
  const type = headerOf(headers, 'content-type') ?? '';
  return type === '' || HTML_TYPE.test(type);
}

function isRefusal(status: number): boolean {
  return status === 403 || status === 429 || status === 503;
}

/** 204 and 205 have no body, and a part of a page (206) says nothing about all of it. */
function isWholeAnswer(status: number): boolean {
  return status >= 200 && status < 300 && status !== 204 && status !== 205 && status !== 206;
}

function isChallenge(response: ResponseHead, page: HtmlPage): boolean {
  if (isRefusal(response.status) && isChallengePage(response, page)) return true;
  return isWall(response, page, TURNSTILE);
}

function isFromCloudflare(headers: ResponseHeaders): boolean {
  const server = headerOf(headers, 'server')?.toLowerCase() ?? '';
  return server.startsWith('cloudflare') || headerOf(headers, 'cf-ray') !== undefined;
}

/** The title alone could be anybody's; the rest is Cloudflare's even behind another proxy. */
function isChallengePage({ headers }: ResponseHead, { title, source }: HtmlPage): boolean {
  if (CHALLENGE_PAGE.test(source)) return true;
  return CHALLENGE_TITLE.test(title) && isFromCloudflare(headers);
}

function isWall({ status }: ResponseHead, page: HtmlPage, widget: Widget): boolean {
  if (status === 403 || status === 429) return widget.trace.test(page.source);
  return (
    page.visibleChars <= WALL_CHARS &&
    page.tags.some((tag) => isVisibleElement(widget, tag)) &&
    !page.tags.some(isTypedInto)
  );
}

/** An invisible widget is in nobody's way. */
function isVisibleElement({ element }: Widget, { source }: HtmlTag): boolean {
  return element.test(source) && source.includes('data-sitekey') && !source.includes('invisible');
}

function isTypedInto({ name, source }: HtmlTag): boolean {
  return (name === 'input' || name === 'textarea') && !UNTYPED_FIELD.test(source);
}

/** Other methods are often answered with nothing, and mean it. */
function wantsPage({ status, method = 'GET' }: ResponseHead): boolean {
  return isWholeAnswer(status) && method.toUpperCase() === 'GET';
}

function isBlank({ isWhole, visibleChars, tags }: HtmlPage): boolean {
  return isWhole && visibleChars === 0 && tags.every(isSilent);
}

function isSilent({ name, source }: HtmlTag): boolean {
  const leadsElsewhere = name === 'meta' && source.includes('refresh');
  return SILENT_ELEMENTS.has(name) && !leadsElsewhere;
}
