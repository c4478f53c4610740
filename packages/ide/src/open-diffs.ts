import { isAbsolute, normalize } from "node:path";
import { abortable } from "@devtool/internal/abortable";
import type { DiffProposal, Editor, EditorDiff } from "./editor.ts";
import type { DiffOutcome } from "./gen/devtool/ide/v1alpha/diff_pb.ts";
import { IdeError } from "./ide-error.ts";
import { EDITOR_TIMEOUT_MS, MAX_CONTENT_BYTES, MAX_DIFFS } from "./limits.ts";

/** Who opened a diff: the session of a client. */
export type DiffOwner = object;

/** A diff that an editor shows. */
export interface OpenDiff {
  /**
   * What the user decides. Undefined when nobody waits for it any longer: the
   * owner has closed the diff, or opened another one of the file.
   */
  readonly answer: Promise<DiffOutcome | undefined>;
}

interface Entry {
  readonly owner: DiffOwner;
  readonly path: string;
  readonly title: string;
  /** Resolves once the editor shows the diff. */
  readonly opening: Promise<EditorDiff>;
  /** Aborts when the owner closes it. */
  readonly withdrawn: AbortController;
  /** Resolves once it is not shown any more, or never will be. */
  readonly ended: PromiseWithResolvers<void>;
  /** What closes the view now. */
  closing: Promise<string | undefined> | undefined;
}

/**
 * The diffs that an editor shows, each of a client. It shows one of a file at a
 * time, so that an answer is for the client that asked: those of other clients
 * wait for it, in the order in which they came.
 */
export class OpenDiffs {
  readonly #editor: Editor;
  /** A diff is here until its view is closed. */
  readonly #entries = new Set<Entry>();

  constructor(editor: Editor) {
    this.#editor = editor;
  }

  /**
   * Opens a diff. One that the owner has open of the same file is closed first.
   * Resolves once the editor shows it, or at once when it waits for one of
   * another owner.
   *
   * Throws an `IdeError` for what cannot be opened.
   */
  async open(
    owner: DiffOwner,
    proposal: DiffProposal,
    signal: AbortSignal,
  ): Promise<OpenDiff> {
    const path = this.#checked(owner, proposal);
    const others = [...this.#entries].filter(
      (entry) => entry.path === path && entry.owner !== owner,
    );
    const withdrawn = new AbortController();
    const waiting = AbortSignal.any([signal, withdrawn.signal]);
    const former = this.close(owner, path);
    const opening = former.then(async () => {
      if (others.length > 0) {
        const ends = others.map(({ ended }) => ended.promise);
        await abortable(Promise.all(ends), waiting);
      }
      return await this.#show({ ...proposal, path }, signal);
    });
    // At once, so that the next one of the file finds it.
    const entry: Entry = {
      owner,
      path,
      title: proposal.title,
      opening,
      withdrawn,
      ended: Promise.withResolvers(),
      closing: undefined,
    };
    this.#entries.add(entry);
    const answer = this.#answer(entry);
    answer.catch(() => undefined);
    if (others.length === 0) await opening;
    return { answer };
  }

  /**
   * Closes a diff of an owner. Resolves to the content as the user has changed
   * it; undefined when the owner has no diff of this file. When the editor
   * fails to close the view, the file stays taken until it is closed.
   */
  async close(owner: DiffOwner, path: string): Promise<string | undefined> {
    const key = normalize(path);
    const own = this.#of(owner).filter((entry) => entry.path === key);
    const contents = await Promise.all(own.map((entry) => this.#close(entry)));
    return contents.at(-1);
  }

  /**
   * Closes the diffs of an owner: all, or those with a title. Returns how many
   * there were. A view that the editor fails to close stays.
   */
  async closeAll(owner: DiffOwner, title?: string): Promise<number> {
    const own = this.#of(owner).filter(
      (entry) => title === undefined || entry.title === title,
    );
    await Promise.allSettled(own.map((entry) => this.#close(entry)));
    return own.length;
  }

  #of(owner: DiffOwner): Entry[] {
    return [...this.#entries].filter((entry) => entry.owner === owner);
  }

  /** A view that opens when nobody waits for it any more is closed again. */
  async #show(
    proposal: DiffProposal,
    signal: AbortSignal,
  ): Promise<EditorDiff> {
    let shown: Promise<EditorDiff> | undefined;
    try {
      return await callEditor((within) => {
        shown = this.#editor.openDiff(proposal, within);
        return shown;
      }, signal);
    } catch (reason) {
      shown
        ?.then((diff) => Promise.allSettled([diff.close(), diff.outcome]))
        .catch(() => undefined);
      throw reason;
    }
  }

  async #answer(entry: Entry): Promise<DiffOutcome | undefined> {
    try {
      const { outcome } = await entry.opening;
      const decided = await outcome;
      return entry.withdrawn.signal.aborted ? undefined : decided;
    } catch (reason) {
      if (entry.withdrawn.signal.aborted) return undefined;
      throw reason;
    } finally {
      this.#forget(entry);
    }
  }

  #forget(entry: Entry): void {
    this.#entries.delete(entry);
    entry.ended.resolve();
  }

  #close(entry: Entry): Promise<string | undefined> {
    entry.withdrawn.abort();
    entry.closing ??= this.#closeView(entry).finally(() => {
      entry.closing = undefined;
    });
    return entry.closing;
  }

  async #closeView(entry: Entry): Promise<string | undefined> {
    const diff = await entry.opening.catch(() => undefined);
    if (!diff) return undefined;
    const content = await callEditor(
      () => diff.close(),
      new AbortController().signal,
    );
    this.#forget(entry);
    return content;
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
    const own = this.#of(owner);
    const { length } = own;
    // One that takes the place of another may come before that is closed.
    const isNext = own.some((entry) => entry.path === key);
    if (length >= MAX_DIFFS + (isNext ? 1 : 0)) {
      throw new IdeError(
        "too_many_diffs",
        `${length} diffs are open: limit is ${MAX_DIFFS}, answer some first`,
      );
    }
    return key;
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
