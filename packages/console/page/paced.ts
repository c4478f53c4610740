import type { TaskItem } from "@devtool/client";
import { keepStart } from "@devtool/internal/cut-text";
import { useEffect, useState } from "react";

/**
 * How much of a session is added in one frame, in characters: about 25
 * paragraphs, so that no frame takes long.
 */
const FRAME_LENGTH = 20_000;

/**
 * What an item counts beside its text: a call is a line that opens, with a diff
 * or output in it.
 */
const ITEM_LENGTH = 300;

/** The beginning of a list, up to a length. */
interface Beginning {
  readonly items: readonly TaskItem[];
  /** Whether there is more. */
  readonly isBehind: boolean;
}

/** The beginning of a session, to which the next frames add the rest. */
interface Paced extends Beginning {
  /** Whether the session is behind since it was opened: all of it is new. */
  readonly isOpening: boolean;
}

/**
 * Shows a session from its beginning, at most 20,000 characters more with each
 * frame of the screen.
 */
export function usePaced(items: readonly TaskItem[]): Paced {
  const [length, setLength] = useState(FRAME_LENGTH);
  const [isOpen, open] = useState(false);
  const paced = itemsUpTo(items, length);
  const { isBehind } = paced;
  if (!isOpen && !isBehind && items.length > 0) open(true);
  useEffect(() => {
    if (!isBehind) return;
    const frame = requestAnimationFrame(() => setLength(length + FRAME_LENGTH));
    return () => cancelAnimationFrame(frame);
  }, [isBehind, length]);
  return { ...paced, isOpening: isBehind && !isOpen };
}

/**
 * Returns the items up to a length. The last one is cut if it is a text, as it
 * would be while it is written.
 */
function itemsUpTo(items: readonly TaskItem[], length: number): Beginning {
  let left = length;
  for (const [index, item] of items.entries()) {
    const { content } = item.part;
    const text = content.case === "text" ? content.value : "";
    left -= ITEM_LENGTH + text.length;
    if (left >= 0) continue;
    const shown = items.slice(0, index + 1);
    if (text.length + left <= 0) {
      return { items: shown, isBehind: index + 1 < items.length };
    }
    const begun = {
      ...item.part,
      content: {
        case: "text" as const,
        value: keepStart(text, text.length + left),
      },
    };
    return {
      items: [...shown.slice(0, -1), { ...item, part: begun }],
      isBehind: true,
    };
  }
  return { items, isBehind: false };
}
