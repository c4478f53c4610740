import {
  type Draft,
  deleteTo,
  draftOf,
  EMPTY_DRAFT,
  expandDraft,
  insertPaste,
  insertText,
  moveCursor,
  moveLine,
} from "./draft.ts";
import { searchHistory } from "./input-history.ts";
import type { Intent } from "./intent.ts";

/** A search in the history. */
export interface Search {
  readonly query: string;
  /** The position of the message that was found; -1 for none. */
  readonly at: number;
}

/** The position behind the newest message of the history. */
const NEWEST = Number.POSITIVE_INFINITY;

/**
 * Writes a message: edits it, brings earlier messages back, and searches for
 * them.
 */
export class Composer {
  draft: Draft = EMPTY_DRAFT;
  /** The search that is going on; undefined when there is none. */
  search: Search | undefined;
  /** What Tab may complete the draft to, if there are several. */
  candidates: readonly string[] = [];
  /** The files that the draft mentions and that do not exist. */
  missing: readonly string[] = [];
  readonly #history: () => readonly string[];
  /**
   * The position of the earlier message in the draft; undefined for a new one.
   */
  #earlier: number | undefined;
  /** The new draft, while an earlier message is in its place. */
  #kept: Draft = EMPTY_DRAFT;

  /** @param history returns the user's messages, the newest last */
  constructor(history: () => readonly string[]) {
    this.#history = history;
  }

  /** The message as it would be sent. */
  get text(): string {
    return expandDraft(this.draft);
  }

  /** The message that the search has found; empty for none. */
  get found(): string {
    return this.#history()[this.search?.at ?? -1] ?? "";
  }

  /** Replaces the draft. */
  write(draft: Draft): void {
    this.draft = draft;
    this.candidates = [];
    this.missing = [];
    this.#earlier = undefined;
  }

  /** Puts a text before the draft, on lines of its own. */
  restore(text: string): void {
    const { draft } = this;
    this.write(
      draft.text === ""
        ? draftOf(text)
        : {
            ...draft,
            text: `${text}\n${draft.text}`,
            cursor: draft.cursor + text.length + 1,
          },
    );
  }

  /** Returns the message and begins a new one. */
  take(): string {
    const { text } = this;
    this.write(EMPTY_DRAFT);
    return text.trim();
  }

  /** Inserts a pasted text. */
  paste(text: string): void {
    if (this.search) {
      this.#find(this.search.query + text.split("\n", 1).join(""), NEWEST);
    } else {
      this.write(insertPaste(this.draft, text));
    }
  }

  /**
   * Carries out what a key means for the text. Returns whether it meant
   * anything for it.
   */
  edit(intent: Intent): boolean {
    if (this.search) return this.#editSearch(this.search, intent);
    switch (intent.case) {
      case "insert":
        this.write(insertText(this.draft, intent.text));
        return true;
      case "newline":
        this.write(insertText(this.draft, "\n"));
        return true;
      case "move":
        this.draft = moveCursor(this.draft, intent.to);
        return true;
      case "delete":
        this.write(deleteTo(this.draft, intent.to));
        return true;
      case "up":
        this.draft = moveLine(this.draft, -1) ?? this.#recall(-1);
        return true;
      case "down":
        this.draft = moveLine(this.draft, 1) ?? this.#recall(1);
        return true;
      case "search":
        this.search = { query: "", at: -1 };
        return true;
      default:
        return false;
    }
  }

  /**
   * Returns the message before or after the one that is shown. Behind the
   * newest one stands the new draft.
   */
  #recall(step: -1 | 1): Draft {
    const messages = this.#history();
    const from = this.#earlier ?? messages.length;
    const to = Math.min(Math.max(from + step, 0), messages.length);
    if (to === from) return this.draft;
    if (this.#earlier === undefined) this.#kept = this.draft;
    this.#earlier = to === messages.length ? undefined : to;
    return this.#earlier === undefined
      ? this.#kept
      : draftOf(messages[to] ?? "");
  }

  #editSearch({ query, at }: Search, intent: Intent): boolean {
    switch (intent.case) {
      case "insert":
        this.#find(query + intent.text, NEWEST);
        return true;
      case "delete":
        this.#find(query.slice(0, -1), NEWEST);
        return true;
      case "search":
      case "up":
        if (at > 0) this.#find(query, at - 1);
        return true;
      case "escape":
      case "escape twice":
        this.search = undefined;
        return true;
      default: {
        const { found } = this;
        this.search = undefined;
        if (found !== "") this.write(draftOf(found));
        // Enter takes the message that was found, and does not send it.
        return intent.case === "submit";
      }
    }
  }

  #find(query: string, from: number): void {
    const at = query === "" ? -1 : searchHistory(this.#history(), query, from);
    // A search for an older message that finds none stays where it is.
    if (at >= 0 || from === NEWEST) {
      this.search = { query, at };
    }
  }
}
