import type { Intent } from "./intent.ts";

/** A list in place of the input, from which the user chooses. */
export interface Picker {
  /** What Enter does, for the line above the filter. */
  readonly enterHint: string;
  /** What the shown entries contain, in any case. */
  readonly filter: string;
  /** Returns the lines of the list, at most `maxLines`, around the marked one. */
  lines(maxLines: number): string[];
  /** Handles a key. */
  take(intent: Intent): void;
}

/** Returns the position of the first entry that is shown. */
export function firstShown(
  marked: number,
  count: number,
  maxLines: number,
): number {
  return Math.max(
    0,
    Math.min(marked - Math.floor(maxLines / 2), count - maxLines),
  );
}
