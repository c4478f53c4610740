import { useSyncExternalStore } from "react";
import type { Attachment } from "./attachments.tsx";

/** A message that is being written. */
export interface Draft {
  readonly text: string;
  readonly images: readonly Attachment[];
  /**
   * Why it was not sent, or a file was not added. Empty if nothing is wrong.
   */
  readonly problem: string;
}

/** The draft before anything is written. */
export const EMPTY_DRAFT: Draft = { text: "", images: [], problem: "" };

/**
 * The drafts of the sessions, by their keys. They are kept while the page shows
 * other sessions, until it is closed.
 */
const drafts = new Map<string, Draft>();
const listeners = new Set<() => void>();

/**
 * Returns the draft of a session, and a function that changes it, also while
 * another session is shown.
 */
export function useDraft(
  key: string,
): readonly [Draft, (change: (now: Draft) => Draft) => void] {
  const draft = useSyncExternalStore(
    subscribe,
    () => drafts.get(key) ?? EMPTY_DRAFT,
  );
  return [
    draft,
    (change) => {
      drafts.set(key, change(drafts.get(key) ?? EMPTY_DRAFT));
      for (const listener of listeners) listener();
    },
  ];
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
