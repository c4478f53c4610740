import type {
  EditorContext,
  Range,
} from "./gen/devtool/ide/v1alpha/context_pb.ts";
import type { FileDiagnostics } from "./gen/devtool/ide/v1alpha/diagnostics_pb.ts";
import type { DiffOutcome } from "./gen/devtool/ide/v1alpha/diff_pb.ts";

/**
 * What an editor brings to a companion. All paths are absolute.
 *
 * A method that fails or takes more than ten seconds costs the client that
 * called it an error, and nothing else.
 */
export interface Editor {
  /** For programs, such as `vscode`. */
  readonly name: string;
  /** For people, such as `VS Code`. */
  readonly displayName: string;
  /** The folders that are open. */
  workspaceFolders(): readonly string[];
  /** What the user sees now. */
  context(): EditorContext;
  /**
   * Calls the listener when the context or the workspace folders have changed,
   * as often as that happens. Disposing of the result ends it.
   */
  onContext(listener: () => void): Disposable;
  /**
   * Shows a proposed content beside the present one, to be changed, accepted or
   * rejected. Resolves once it is shown; shows nothing when the signal aborts
   * before.
   */
  openDiff(proposal: DiffProposal, signal: AbortSignal): Promise<EditorDiff>;
  /**
   * What the editor reports about a file, or about all files without a path.
   */
  diagnostics(
    path: string | undefined,
    signal: AbortSignal,
  ): Promise<readonly FileDiagnostics[]>;
  /** Opens a file and, with a range, selects it. */
  openFile(location: FileLocation, signal: AbortSignal): Promise<void>;
  /**
   * Whether an open file has changes that are not saved. Undefined when it is
   * not open.
   */
  isDirty(path: string): boolean | undefined;
  /** Saves an open file. Resolves to false when it is not open. */
  save(path: string, signal: AbortSignal): Promise<boolean>;
}

/** A change that an agent proposes. */
export interface DiffProposal {
  /** The file, which may not exist yet. */
  readonly path: string;
  /** The whole content that the agent proposes. */
  readonly content: string;
  /** The title for the view, as the agent has it. Empty: none. */
  readonly title: string;
}

/** A diff that an editor shows. */
export interface EditorDiff {
  /** What the user decides, or that the view was closed. */
  readonly outcome: Promise<DiffOutcome>;
  /**
   * Closes the view. Resolves to the proposed content as the user has changed
   * it so far; the outcome is then that the diff was closed.
   */
  close(): Promise<string>;
}

/** A place that a client wants to show. */
export interface FileLocation {
  readonly path: string;
  /** What to select. Undefined: nothing. */
  readonly range: Range | undefined;
  /** Whether the file becomes the active one. */
  readonly isFocused: boolean;
}
