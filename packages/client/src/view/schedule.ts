/**
 * Calls a function once, later: a view's listeners are notified together of all
 * changes until then.
 */
export type Schedule = (notify: () => void) => void;

/**
 * Maximum time in milliseconds that an animation frame is waited for. A page in
 * the background draws none.
 */
const MAX_FRAME_MS = 1000;

/**
 * The animation frames of a browser, which other runtimes do not have.
 */
interface MayDraw {
  readonly setTimeout: unknown;
  readonly requestAnimationFrame?: (draw: () => void) => number;
  readonly cancelAnimationFrame?: (frame: number) => void;
}

/**
 * Calls a function with the next animation frame, or as the next macrotask
 * where nothing is drawn.
 */
export function scheduleFrame(notify: () => void): void {
  const browser: MayDraw = globalThis;
  if (!browser.requestAnimationFrame) {
    setTimeout(notify, 0);
    return;
  }
  const frame = browser.requestAnimationFrame(() => {
    clearTimeout(late);
    notify();
  });
  const late = setTimeout(() => {
    browser.cancelAnimationFrame?.(frame);
    notify();
  }, MAX_FRAME_MS);
}
