import { create, type MessageInitShape } from "@bufbuild/protobuf";
import type {
  DiffProposal,
  Editor,
  EditorDiff,
  FileLocation,
} from "../editor.ts";
import {
  type EditorContext,
  EditorContextSchema,
} from "../gen/devtool/ide/v1alpha/context_pb.ts";
import {
  type FileDiagnostics,
  FileDiagnosticsSchema,
} from "../gen/devtool/ide/v1alpha/diagnostics_pb.ts";
import {
  DiffDecision,
  type DiffOutcome,
  DiffOutcomeSchema,
} from "../gen/devtool/ide/v1alpha/diff_pb.ts";

/** A view of a diff, and what a user does with it. */
export interface ScriptedDiff extends DiffProposal {
  /** The content as the user has changed it. */
  draft: string;
  readonly isOpen: boolean;
  accept(): void;
  reject(): void;
  closeView(): void;
}

/** What goes wrong in an editor. */
export type EditorFault = "hangs" | "fails" | undefined;

/** An editor in memory, whose user is a test. */
export class ScriptedEditor implements Editor {
  readonly name = "scripted";
  readonly displayName = "Scripted Editor";
  readonly folders: string[];
  /** All diffs that were shown, the first one first. */
  readonly diffs: ScriptedDiff[] = [];
  readonly opened: FileLocation[] = [];
  readonly dirty = new Map<string, boolean>();
  /** What each call does instead of what it should. Default: nothing. */
  fault: EditorFault;
  reports: FileDiagnostics[] = [];
  #context: EditorContext = create(EditorContextSchema);
  readonly #listeners = new Set<() => void>();

  constructor(...folders: readonly string[]) {
    this.folders = [...folders];
  }

  workspaceFolders(): readonly string[] {
    return [...this.folders];
  }

  context(): EditorContext {
    return this.#context;
  }

  /** Shows the user something else. */
  show(context: MessageInitShape<typeof EditorContextSchema>): void {
    this.#context = create(EditorContextSchema, context);
    this.changed();
  }

  /** Tells that something is different. */
  changed(): void {
    for (const listener of this.#listeners) listener();
  }

  /** Says what is wrong with a file. */
  report(reports: MessageInitShape<typeof FileDiagnosticsSchema>): void {
    this.reports.push(create(FileDiagnosticsSchema, reports));
  }

  onContext(listener: () => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => this.#listeners.delete(listener) };
  }

  async openDiff(proposal: DiffProposal): Promise<EditorDiff> {
    await this.#fail();
    const ended = Promise.withResolvers<DiffOutcome>();
    let isOpen = true;
    const end = (decision: DiffDecision, content = ""): void => {
      isOpen = false;
      ended.resolve(create(DiffOutcomeSchema, { decision, content }));
    };
    const view: ScriptedDiff = {
      ...proposal,
      draft: proposal.content,
      get isOpen() {
        return isOpen;
      },
      accept: () => end(DiffDecision.ACCEPTED, view.draft),
      reject: () => end(DiffDecision.REJECTED),
      closeView: () => end(DiffDecision.CLOSED),
    };
    this.diffs.push(view);
    return {
      outcome: ended.promise,
      close: async () => {
        await this.#fail();
        view.closeView();
        return view.draft;
      },
    };
  }

  async diagnostics(
    path: string | undefined,
  ): Promise<readonly FileDiagnostics[]> {
    await this.#fail();
    return this.reports.filter(
      (report) => path === undefined || report.path === path,
    );
  }

  async openFile(location: FileLocation): Promise<void> {
    await this.#fail();
    this.opened.push(location);
  }

  isDirty(path: string): boolean | undefined {
    return this.dirty.get(path);
  }

  async save(path: string): Promise<boolean> {
    await this.#fail();
    if (!this.dirty.has(path)) return false;
    this.dirty.set(path, false);
    return true;
  }

  async #fail(): Promise<void> {
    if (this.fault === "fails") throw new Error("no window is open");
    if (this.fault === "hangs") await new Promise(() => {});
  }
}
