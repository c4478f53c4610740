import { isAbsolute, normalize } from "node:path";
import { abortable } from "@devtool/internal/abortable";
import type { DiffProposal, Editor, EditorDiff } from "./editor.ts";
import { IdeError } from "./ide-error.ts";
import { EDITOR_TIMEOUT_MS, MAX_CONTENT_BYTES, MAX_DIFFS } from "./limits.ts";

/** Who opened a diff: the session of a client. */
export type DiffOwner = object;

interface Entry {
  readonly owner: DiffOwner;
  readonly title: string;
  /** Resolves once the editor shows the diff. */
  readonly opening: Promise<EditorDiff>;
}

/**
 * The diffs that an editor shows, each of a client. No two clients have one of
 * the same file, so that an answer is for the client that asked.
 */
export class OpenDiffs {
  readonly #editor: Editor;
  readonly #entries = new Map<string, Entry>();

  constructor(editor: Editor) {
    this.#editor = editor;
  }

  /**
   * Opens a diff. One that the owner has open of the same file is closed first.
   *
   * Throws an `IdeError` for what cannot be opened.
   */
  async open(
    owner: DiffOwner,
    proposal: DiffProposal,
    signal: AbortSignal,
  ): Promise<EditorDiff> {
    const path = this.#checked(owner, proposal);
    const former = this.close(owner, path);
    const opening = former.then(() =>
      callEditor(
        (within) => this.#editor.openDiff({ ...proposal, path }, within),
        signal,
      ),
    );
    // At once, so that nobody else opens one of the file meanwhile.
    const entry = { owner, title: proposal.title, opening };
    this.#entries.set(path, entry);
    try {
      const diff = await opening;
      const ended = (): void => this.#remove(path, entry);
      diff.outcome.then(ended, ended);
      return diff;
    } catch (reason) {
      this.#remove(path, entry);
      throw reason;
    }
  }

  /**
   * Closes a diff of an owner. Resolves to the content as the user has changed
   * it; undefined when the owner has no diff of this file.
   */
  async close(owner: DiffOwner, path: string): Promise<string | undefined> {
    const key = normalize(path);
    const entry = this.#entries.get(key);
    if (entry?.owner !== owner) return undefined;
    this.#entries.delete(key);
    const diff = await entry.opening.catch(() => undefined);
    if (!diff) return undefined;
    return await callEditor(() => diff.close(), new AbortController().signal);
  }

  /**
   * Closes the diffs of an owner: all, or those with a title. Returns how many
   * there were. A view that the editor fails to close stays.
   */
  async closeAll(owner: DiffOwner, title?: string): Promise<number> {
    const paths = [...this.#entries]
      .filter(([, entry]) => entry.owner === owner)
      .filter(([, entry]) => title === undefined || entry.title === title)
      .map(([path]) => path);
    await Promise.allSettled(paths.map((path) => this.close(owner, path)));
    return paths.length;
  }

  /** Returns the path by which the diff is kept. */
  #checked(owner: DiffOwner, { path, content }: DiffProposal): string {
    assertAbsolute(path);
    const bytes = Buffer.byteLength(content);
    if (bytes > MAX_CONTENT_BYTES) {
      throw new IdeError(
        "content_too_large",
        `proposed content of "${path}" is ${bytes} bytes: limit is ${MAX_CONTENT_BYTES}`,
      );
    }
    const key = normalize(path);
    const present = this.#entries.get(key);
    if (present && present.owner !== owner) {
      throw new IdeError(
        "diff_open_elsewhere",
        `another agent has a diff of "${path}" open: accept, reject or close it first`,
      );
    }
    const own = [...this.#entries.values()].filter(
      (entry) => entry.owner === owner,
    );
    if (!present && own.length >= MAX_DIFFS) {
      throw new IdeError(
        "too_many_diffs",
        `${own.length} diffs are open: limit is ${MAX_DIFFS}, answer some first`,
      );
    }
    return key;
  }

  #remove(path: string, entry: Entry): void {
    if (this.#entries.get(path) === entry) this.#entries.delete(path);
  }
}

/** Throws an `IdeError` when a path is not absolute. */
export function assertAbsolute(path: string): void {
  if (isAbsolute(path)) return;
  throw new IdeError(
    "path_not_absolute",
    `path "${path}" is not absolute: give the whole path`,
  );
}

/**
 * Calls the editor and waits for at most `EDITOR_TIMEOUT_MS`. Throws an
 * `IdeError` when it fails or does not answer.
 */
export async function callEditor<T>(
  call: (signal: AbortSignal) => Promise<T>,
  signal: AbortSignal,
): Promise<T> {
  const late = AbortSignal.timeout(EDITOR_TIMEOUT_MS);
  const within = AbortSignal.any([signal, late]);
  try {
    within.throwIfAborted();
    return await abortable(call(within), within);
  } catch (reason) {
    if (reason instanceof IdeError) throw reason;
    signal.throwIfAborted();
    const message = late.aborted
      ? `the editor did not answer within ${EDITOR_TIMEOUT_MS} ms: try again`
      : `the editor failed: ${reason instanceof Error ? reason.message : String(reason)}`;
    throw new IdeError("editor_failed", message, { cause: reason });
  }
}
