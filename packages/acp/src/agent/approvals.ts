import type { ConfirmationRequest, FileDiff } from "@devtool/schema";
import type { CallBook } from "./call-book.ts";
import type { ClientAction } from "./client-action.ts";

/**
 * The effect of a call, as it was shown when the decision about it was made.
 */
export interface ShownCall {
  readonly id: string;
  readonly kind: string;
  readonly details: ConfirmationRequest["details"];
  /**
   * The changes of files that were shown. An action may write none but these.
   */
  readonly changes: readonly FileDiff[];
}

/**
 * The calls of one turn that the user or a policy has approved, for the actions
 * that these calls consist of.
 *
 * An approval covers an action that is just what was shown, once, and until the
 * call has ended.
 */
export class Approvals {
  readonly #book: CallBook;
  readonly #workspacePath: string;
  readonly #approved = new Map<
    string,
    { readonly shown: ShownCall; readonly used: Set<string> }
  >();

  constructor(book: CallBook, workspacePath: string) {
    this.#book = book;
    this.#workspacePath = workspacePath;
  }

  /**
   * Returns what a call does at present. An agent may describe it in another
   * way later.
   */
  show(id: string): ShownCall {
    const { kind, details, diffs } = this.#book.call(id).described;
    return { id, kind, details, changes: diffs };
  }

  add(shown: ShownCall): void {
    this.#approved.set(shown.id, { shown, used: new Set() });
  }

  /** Uses an approval for an action. Returns whether there was one. */
  use(action: ClientAction): boolean {
    const key = action.case === "run" ? action.command : action.path;
    const open = new Set(this.#book.open().map(({ id }) => id));
    for (const { shown, used } of this.#approved.values()) {
      if (
        !open.has(shown.id) ||
        used.has(key) ||
        !this.#covers(shown, action)
      ) {
        continue;
      }
      used.add(key);
      return true;
    }
    return false;
  }

  #covers({ details, changes }: ShownCall, action: ClientAction): boolean {
    switch (action.case) {
      case "read":
        return false;
      case "write":
        // Users are shown the difference between the two contents, so the file
        // must have the old one: what an agent claims to be there already would
        // be written unseen. A file that cannot be shown is never the one that
        // was.
        return (
          !action.isHidden &&
          changes.some(
            ({ filePath, oldContent = "", newContent }) =>
              filePath === action.path &&
              isSameText(oldContent, action.oldContent ?? "") &&
              isSameText(newContent, action.content),
          )
        );
      case "run": {
        if (details?.case !== "executeDetails") return false;
        const { command, workingDirectory = this.#workspacePath } =
          details.value;
        return (
          workingDirectory === action.directory &&
          [action.command, action.script].includes(command)
        );
      }
      default:
        return action satisfies never;
    }
  }
}

/**
 * Returns whether two texts are the same but for their line ends: agents show
 * changes with line feeds, and write them with those that the file has.
 */
function isSameText(shown: string, written: string): boolean {
  return shown.replaceAll("\r\n", "\n") === written.replaceAll("\r\n", "\n");
}
