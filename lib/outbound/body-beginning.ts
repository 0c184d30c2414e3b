import { PAGE_CHARS } from './html-page.js';

/**
 * How long the beginning of a body is waited for. Pages that block come whole at once; one that comes
 * piece by piece is for the caller to read.
 */
const BODY_PATIENCE_MS = 1_000;

/**
 * The beginning of the body as text, read from a copy; the response stays as it was. Undefined when
 * it cannot be told.
 */
export async function beginningOf(response: Response): Promise<string | undefined> {
  if (response.bodyUsed) return undefined;
  if (!response.body) return '';
  const reader = response.clone().body!.getReader();
  // Not waited for: the copy ends when the response itself has been read.
  const stop = () => void reader.cancel().catch(() => undefined);
  let isSlow = false;
  const timer = setTimeout(() => {
    isSlow = true;
    stop();
  }, BODY_PATIENCE_MS);
  try {
    const text = await readText(reader);
    return isSlow ? undefined : text;
  } catch {
    // Whoever reads the response itself hears what went wrong.
    return undefined;
  } finally {
    clearTimeout(timer);
    stop();
  }
}

async function readText(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  while (text.length < PAGE_CHARS) {
    const { done, value } = await reader.read();
    if (done) break;
    text += decoder.decode(value, { stream: true });
  }
  return text;
}
