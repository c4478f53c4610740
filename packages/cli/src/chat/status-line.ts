import { readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join, resolve, sep } from "node:path";
import { oneLine } from "@devtool/internal/visible-text";
import type { Usage } from "@devtool/schema";
import stringWidth from "string-width";
import { shortCount } from "../render/count.ts";

/** The content of the status line. Empty fields are left out. */
export interface Status {
  readonly mode: string;
  readonly model: string;
  readonly agent: string;
  readonly workspace: string;
  readonly branch: string;
  /** The editor of which the agent was told last. */
  readonly editor: string;
  /** The tokens that the conversation has sent to models. 0 if unknown. */
  readonly sentTokens: bigint;
  /**
   * The share of the model's context that is free, in percent; undefined if
   * unknown.
   */
  readonly contextLeft: number | undefined;
}

/**
 * Returns the status in one line of at most `columns` columns. What does not
 * fit is left out, the mode and the model last.
 */
export function statusLine(status: Status, columns: number): string {
  const { mode, model, agent, workspace, branch, sentTokens, contextLeft } =
    status;
  const editor = status.editor && `editor ${oneLine(status.editor, 40)}`;
  const home = homedir();
  const place = workspace.startsWith(join(home, sep))
    ? `~${workspace.slice(home.length)}`
    : workspace;
  const sent = sentTokens === 0n ? "" : `${shortCount(sentTokens)} tokens sent`;
  // The most important first, and in which place each stands.
  const context =
    contextLeft === undefined ? "" : `context ${contextLeft} % left`;
  const at = branch && `⎇ ${oneLine(branch)}`;
  const parts = [mode, model, context, sent, place, at, editor, agent].map(
    (part) => oneLine(part),
  );
  const order = [7, 1, 4, 5, 6, 0, 2, 3];
  for (let kept = parts.length; kept > 0; kept--) {
    const line = order
      .flatMap((index) => (index < kept && parts[index] ? [parts[index]] : []))
      .join(" · ");
    if (stringWidth(line) <= columns) return line;
  }
  return "";
}

/**
 * Returns the share of a model's context that is free, in percent; undefined
 * where the agent does not say.
 */
export function contextLeftOf(usage: Usage | undefined): number | undefined {
  if (
    !usage ||
    usage.contextTokens === 0n ||
    usage.contextWindowTokens === 0n
  ) {
    return undefined;
  }
  const share = Number(usage.contextTokens) / Number(usage.contextWindowTokens);
  return Math.max(0, Math.round(100 * (1 - share)));
}

/**
 * Returns the branch that is checked out in a directory or above it; empty if
 * there is none.
 */
export async function gitBranch(directory: string): Promise<string> {
  const git = join(directory, ".git");
  // A worktree has a file in place of the directory, with the path of its own
  // directory in the repository.
  const link = await readFile(git, "utf8").catch(() => "");
  const [, place] = /^gitdir: (.+)$/m.exec(link) ?? [];
  const repository = place === undefined ? git : resolve(directory, place);
  const head = await readFile(join(repository, "HEAD"), "utf8").catch(
    () => undefined,
  );
  if (head === undefined) {
    return dirname(directory) === directory
      ? ""
      : gitBranch(dirname(directory));
  }
  const [, branch = ""] = /^ref: refs\/heads\/(.+)$/m.exec(head) ?? [];
  return branch || head.trim().slice(0, 8);
}
