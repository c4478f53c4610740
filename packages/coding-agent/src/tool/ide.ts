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
  /** Returns what the user sees now, as a whole. */
  context(): IdeContext;
  /**
   * Shows a proposed content of a file, and resolves to what the user does with
   * it. Rejects when the editor does not show it or goes away. Closes the view
   * when the signal aborts.
   */
  openDiff(
    path: string,
    content: string,
    signal: AbortSignal,
  ): Promise<IdeAnswer>;
}

/** How the user answered a proposed change in the editor. */
export type IdeAnswer =
  | { readonly case: "accepted"; readonly content: string }
  | { readonly case: "rejected" };
