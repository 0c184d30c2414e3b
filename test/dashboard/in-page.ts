/// <reference lib="dom" />
// Runs in the page, not in the test: each of these stands alone.

/** How bright the background is, from 0 to 255. */
export function brightness(): number {
  const { backgroundColor } = getComputedStyle(document.documentElement);
  const [red, green, blue] = backgroundColor.match(/\d+/g)!.map(Number);
  return (red! + green! + blue!) / 3;
}

/** Whether the plot has the colour of a line anywhere: more blue than red. */
export function isDrawnUpon(): boolean {
  const canvas = document.querySelector<HTMLCanvasElement>('#plot canvas');
  if (!canvas || canvas.width === 0) return false;
  const { data } = canvas.getContext('2d')!.getImageData(0, 0, canvas.width, canvas.height);
  for (let i = 0; i < data.length; i += 4) {
    if (data[i + 3]! > 200 && data[i + 2]! - data[i]! > 80) return true;
  }
  return false;
}

/** Lets the page believe that its tab is in the background, or again in front. */
export function hide(hidden: boolean): void {
  Object.defineProperty(document, 'hidden', { configurable: true, get: () => hidden });
  document.dispatchEvent(new Event('visibilitychange'));
}

/** Tries to run a script that is not the page's own. */
export function tryToInject(): string {
  try {
    const script = document.createElement('script');
    script.textContent = 'document.title = "injected"';
    document.body.append(script);
  } catch {
    // Some ways are refused with an exception, others are ignored.
  }
  try {
    document.body.innerHTML = '<p>injected</p>';
  } catch {
    return document.title === 'injected' ? 'ran' : 'blocked';
  }
  return 'became markup';
}

/** How wide the page is, whatever the screen. */
export function pageWidth(): number {
  return document.documentElement.scrollWidth;
}
