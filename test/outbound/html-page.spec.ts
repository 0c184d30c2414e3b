import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { PAGE_CHARS, readHtmlPage } from '../../lib/outbound/html-page.js';

function tagsOf(html: string): string[] {
  return readHtmlPage(html).tags.map(({ source }) => source);
}

describe('the beginning of a page', () => {
  it.each([
    ['', 0],
    [' \n\t\u00a0\u200b\ufeff', 0],
    ['&nbsp;&#160;&#xA0; &#8203;', 0],
    ['<p>ab c</p>', 3],
    ['a<b>b</b><!-- c --><script>d</script><style>e</style><title>f</title>g', 3],
    ['1 < 2 <3', 5],
    ['<!doctype html><?xml version="1.0"?>x', 1],
    ['<!-->x', 1],
    ['<p title="a > b">x', 1],
    ["<p title = 'a > b'>x", 1],
    ['<p "a > b">x', 4],
  ])('%j shows %d characters', (html, chars) => {
    expect(readHtmlPage(html).visibleChars).toBe(chars);
  });

  it('has its tags in lower case, without those in comments, scripts and text fields', () => {
    const html =
      '<DIV Class="A>B"><!-- <p> --><Script SRC=x><b></Script><br/><textarea><i></textarea></DIV>';
    expect(tagsOf(html)).toEqual(['<div class="a>b">', '<script src=x>', '<br/>', '<textarea>']);
    expect(readHtmlPage(html).tags.map(({ name }) => name)).toEqual([
      'div',
      'script',
      'br',
      'textarea',
    ]);
  });

  it('has the first title', () => {
    const html = '<title lang="en">\n Just a moment... </title><svg><title>b</title></svg>';
    expect(readHtmlPage(html).title).toBe('just a moment...');
  });

  it.each(['<p>a', '<p>a</p>', 'a < b'])('%j is whole', (html) => {
    expect(readHtmlPage(html).isWhole).toBe(true);
  });

  it.each(['<p', '<p title="a>', 'a<!-- b', '<script>a', '<title>a', 'a</p', '<!doctype'])(
    '%j is not whole',
    (html) => {
      expect(readHtmlPage(html).isWhole).toBe(false);
    },
  );

  it('is not whole when there may be more than was given', () => {
    expect(readHtmlPage(' '.repeat(PAGE_CHARS - 1)).isWhole).toBe(true);
    expect(readHtmlPage(' '.repeat(PAGE_CHARS)).isWhole).toBe(false);
  });

  it('is all that is read', () => {
    const { visibleChars, tags } = readHtmlPage(`${'a'.repeat(PAGE_CHARS)}<p>bcd`);
    expect({ visibleChars, tags }).toEqual({ visibleChars: PAGE_CHARS, tags: [] });
  });

  it('can be any text', () => {
    const piece = fc.constantFrom(
      '<',
      '>',
      '</',
      '<!--',
      '-->',
      '<p',
      '"',
      "'",
      '=',
      ' ',
      'İ',
      'x',
    );
    const text = fc.oneof(
      fc.array(piece).map((pieces) => pieces.join('')),
      fc.string(),
    );
    fc.assert(
      fc.property(text, (html) => {
        const { visibleChars, source } = readHtmlPage(html);
        return visibleChars >= 0 && visibleChars <= source.length;
      }),
      { numRuns: 2_000 },
    );
  });
});
