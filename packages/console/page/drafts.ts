import { useState } from "react";
import type { Attachment } from "./attachments.tsx";

/** A message that is being written. */
export interface Draft {
  readonly text: string;
  readonly images: readonly Attachment[];
}

/** The draft before anything is written. */
export const EMPTY: Draft = { text: "", images: [] };

/** The drafts of the sessions, by their keys. They are kept while the page shows other sessions, until it is closed. */
const drafts = new Map<string, Draft>();

/** Returns the draft of a session, and a function that changes it. */
export function useDraft(key: string): readonly [Draft, (change: (now: Draft) => Draft) => void] {
  const [draft, setDraft] = useState(() => drafts.get(key) ?? EMPTY);
  return [
    draft,
    (change) => {
      const changed = change(drafts.get(key) ?? EMPTY);
      drafts.set(key, changed);
      setDraft(changed);
    },
  ];
}
