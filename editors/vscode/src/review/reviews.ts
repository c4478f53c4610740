import * as vscode from "vscode";
import { ReviewFiles } from "./review-files.ts";

/** What is shown: the diff of an agent, or a question of a session. */
export type ReviewKind = "devtool-diff" | "devtool-question";

/** What the user does with a view. */
export type Decision = "accept" | "reject" | "answer" | "close";

/** A text to show, which the user decides about. */
export interface ReviewRequest {
  readonly kind: ReviewKind;
  /** The absolute path of the file; its name and its language are shown. */
  readonly path: string;
  readonly title: string;
  /**
   * What the text is compared with: a file, or a text. Undefined: the text is
   * shown alone, and cannot be changed.
   */
  readonly original: vscode.Uri | string | undefined;
  readonly text: string;
  /** Called for each decision; with `close` the view is gone. Never rejects. */
  decide(decision: Decision, review: Review): Promise<void>;
}

/** A view with a text. */
export interface Review {
  /** The text, with what the user has changed so far. */
  content(): string;
  /** Closes the view without asking. No decision follows. */
  close(): Promise<void>;
}

/** At the beginning of some files: to an editor, it is no part of the text. */
const BYTE_ORDER_MARK = "\ufeff";

interface Shown extends Review {
  readonly request: ReviewRequest;
  readonly uri: vscode.Uri;
}

/**
 * The views that ask the user to decide: native diffs, whose right side can be
 * changed before it is accepted, and texts.
 *
 * An answer is given by the commands in the title of the view alone. A view
 * that is closed has none.
 */
export class Reviews implements vscode.Disposable {
  readonly #files = new ReviewFiles();
  readonly #shown = new Map<string, Shown>();
  /** Those whose tabs are closed now, by us. */
  readonly #closing = new Set<string>();
  readonly #disposables: readonly vscode.Disposable[];
  #count = 0;

  constructor() {
    const decides = (decision: Decision): vscode.Disposable =>
      vscode.commands.registerCommand(`devtool.${decision}`, (uri: unknown) =>
        this.#decide(decision, uri),
      );
    this.#disposables = [
      ...(["devtool-diff", "devtool-question"] as const).map((kind) =>
        vscode.workspace.registerFileSystemProvider(kind, this.#files, {
          isCaseSensitive: true,
        }),
      ),
      decides("accept"),
      decides("reject"),
      decides("answer"),
      vscode.window.tabGroups.onDidChangeTabs(({ closed }) =>
        this.#closed(closed),
      ),
    ];
  }

  /**
   * Closes views that the editor has kept from before it was started again:
   * nobody waits for them.
   */
  async closeOld(): Promise<void> {
    const old = allTabs().filter((tab) => {
      const uri = uriOf(tab);
      return uri && isReview(uri) && !this.#shown.has(uri.toString());
    });
    await vscode.window.tabGroups.close(old, true);
  }

  /**
   * Shows a text, and leaves the focus where it is. Rejects for a text that an
   * editor cannot show whole. Shows nothing when the signal aborts before.
   */
  async show(request: ReviewRequest, signal: AbortSignal): Promise<Review> {
    const { kind, path, title, original, text } = request;
    if (text.includes("\0")) {
      throw new Error(`"${path}" would have NUL characters: not shown`);
    }
    const id = ++this.#count;
    const uri = vscode.Uri.file(path).with({ scheme: kind, query: `${id}` });
    const left =
      typeof original === "string"
        ? uri.with({ query: `${id}-old` })
        : original;
    this.#files.put(uri, text, left ? "editable" : "readonly");
    if (left && typeof original === "string") {
      this.#files.put(left, original, "readonly");
    }
    try {
      const document = await vscode.workspace.openTextDocument(uri);
      signal.throwIfAborted();
      const shown = this.#shownOf(request, uri, document.getText());
      this.#shown.set(uri.toString(), shown);
      await (left
        ? vscode.commands.executeCommand("vscode.diff", left, uri, title, {
            preview: false,
            preserveFocus: true,
          })
        : vscode.window.showTextDocument(document, { preview: false }));
      return shown;
    } catch (reason) {
      this.#forget(uri);
      throw reason;
    }
  }

  dispose(): void {
    for (const each of this.#disposables) each.dispose();
  }

  /** @param before the text as the editor has it, with its ends of lines */
  #shownOf(request: ReviewRequest, uri: vscode.Uri, before: string): Shown {
    const key = uri.toString();
    const content = (): string => {
      const document = vscode.workspace.textDocuments.find(
        (each) => each.uri.toString() === key,
      );
      const now = document?.getText() ?? before;
      // An editor makes the ends of all lines the same, and drops the mark.
      if (now === before) return request.text;
      return request.text.startsWith(BYTE_ORDER_MARK)
        ? BYTE_ORDER_MARK + now
        : now;
    };
    const close = async (): Promise<void> => {
      if (!this.#shown.has(key)) return;
      this.#closing.add(key);
      try {
        await closeTabs(key);
        this.#forget(uri);
      } finally {
        this.#closing.delete(key);
      }
    };
    return { request, uri, content, close };
  }

  #forget(uri: vscode.Uri): void {
    this.#shown.delete(uri.toString());
    this.#files.remove(uri);
    this.#files.remove(uri.with({ query: `${uri.query}-old` }));
  }

  /** @param uri what the title of a view gives its commands */
  #decide(decision: Decision, uri: unknown): void {
    const { activeTab } = vscode.window.tabGroups.activeTabGroup;
    const chosen =
      uri instanceof vscode.Uri ? uri : activeTab && uriOf(activeTab);
    const shown = this.#shown.get(chosen?.toString() ?? "");
    void shown?.request.decide(decision, shown);
  }

  #closed(tabs: readonly vscode.Tab[]): void {
    for (const tab of tabs) {
      const uri = uriOf(tab);
      const key = uri?.toString() ?? "";
      const shown = this.#shown.get(key);
      if (!uri || !shown || this.#closing.has(key)) continue;
      // It may be in another group, too.
      if (tabsOf(key).length > 0) continue;
      this.#forget(uri);
      void shown.request.decide("close", shown);
    }
  }
}

/** Closes the tabs of a file in memory, without a question to save it. */
async function closeTabs(key: string): Promise<void> {
  const document = vscode.workspace.textDocuments.find(
    ({ uri }) => uri.toString() === key,
  );
  if (document?.isDirty) await document.save();
  const tabs = tabsOf(key);
  if (tabs.length === 0) return;
  const areClosed = await vscode.window.tabGroups.close(tabs, true);
  if (!areClosed) throw new Error("the view could not be closed");
}

function tabsOf(key: string): vscode.Tab[] {
  return allTabs().filter((tab) => uriOf(tab)?.toString() === key);
}

function allTabs(): vscode.Tab[] {
  return vscode.window.tabGroups.all.flatMap(({ tabs }) => tabs);
}

/** The file that a tab shows, on its right side if it has two. */
function uriOf({ input }: vscode.Tab): vscode.Uri | undefined {
  if (input instanceof vscode.TabInputTextDiff) return input.modified;
  return input instanceof vscode.TabInputText ? input.uri : undefined;
}

function isReview({ scheme }: vscode.Uri): boolean {
  return scheme === "devtool-diff" || scheme === "devtool-question";
}
