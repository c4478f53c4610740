import { isInside, realPathOrMissing } from "@devtool/internal/real-path";
import type { IdeContext } from "@devtool/schema";

/**
 * The editors of the server's user. `IdeLinks` of `@devtool/ide` implements it.
 */
export interface Ide extends AsyncDisposable {
  /**
   * Returns the editor that has a workspace open, or why there is none. Cheap
   * while none is there. Must not reject.
   */
  connect(workspacePath: string, signal: AbortSignal): Promise<IdeConnection>;
  /**
   * Yields at once, and then whenever `connect` may have another result. Ends
   * when the signal aborts.
   */
  changes(signal: AbortSignal): AsyncIterable<void>;
}

/** An editor that shows a workspace, or why there is none. */
export type IdeConnection =
  | { readonly case: "connected"; readonly link: IdeLink }
  | { readonly case: "none"; readonly reason: string };

/** An editor that shows a workspace. */
export interface IdeLink {
  /** The name of the editor for people. */
  readonly editor: string;
  /** Whether the user trusts the workspace, as far as the editor says it. */
  readonly isTrusted: boolean;
  /** Whether the editor shows diffs. */
  readonly showsDiffs: boolean;
  /** Whether the editor reports diagnostics. */
  readonly reportsDiagnostics: boolean;
  /** Whether the editor shows files. */
  readonly showsFiles: boolean;
  /** Returns what the user sees now, as a whole, without diagnostics. */
  context(): IdeContext;
  /**
   * Returns what the editor reports about a file, or about all files without a
   * path, the errors of each file first.
   */
  diagnostics(
    path: string | undefined,
    signal: AbortSignal,
  ): Promise<IdeContext["files"]>;
  /** Shows a file and, when lines are given, goes to them. */
  openFile(
    path: string,
    lines: IdeLines | undefined,
    signal: AbortSignal,
  ): Promise<void>;
  /**
   * Shows a proposed content of a file, and resolves to what the user does with
   * it. A diff of the same file that is still open is waited for.
   *
   * Rejects when the editor does not show it or goes away. When the signal
   * aborts, closes the view and rejects with the signal's reason; with an error
   * that says so when another diff of the file is open until then.
   */
  openDiff(
    path: string,
    content: string,
    signal: AbortSignal,
  ): Promise<IdeAnswer>;
}

/** The lines of a file that an editor is to show, from 1. */
export interface IdeLines {
  readonly first: number;
  /** The last one to select. Undefined: nothing is selected. */
  readonly last: number | undefined;
}

/** How the user answered a proposed change in the editor. */
export type IdeAnswer =
  | { readonly case: "accepted"; readonly content: string }
  | { readonly case: "rejected" };

/**
 * Returns the path of a file of an editor relative to the workspace, which it
 * may have open by a link; undefined when the file is outside.
 */
export function pathInside(
  workspace: string,
  path: string,
): string | undefined {
  const [root, real] = [workspace, path].map(realPathOrMissing);
  if (root === undefined || real === undefined) return undefined;
  return isInside(root, real) && real !== root
    ? real.slice(root.length + 1)
    : undefined;
}
