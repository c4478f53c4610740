import { realpathSync } from "node:fs";
import { posix } from "node:path";
import type { ApprovalMode, ToolCall } from "@devtool/schema";
import { canonicalJson } from "@devtool/schema/json";
import type { PolicyRequest, ToolFacts } from "./policy-engine.ts";
import { readGitCommand } from "./shell/git-options.ts";

/** What the conditions of rules are held against. */
export interface PolicySubject {
  readonly call: ToolCall;
  readonly facts: ToolFacts;
  readonly details: PolicyRequest["details"];
  /** Set when nothing confines what the call runs. */
  readonly confinement: PolicyRequest["confinement"];
  readonly mode: ApprovalMode;
  /** The absolute path of the workspace. */
  readonly workspace: string;
  /** The arguments as JSON with sorted keys and no spaces. */
  readonly argsText: string;
  /** The files that the call names or changes, relative to the workspace; one outside of it starts with `..`. */
  readonly paths: readonly string[];
  /** Those of them that it changes. */
  readonly changes: readonly string[];
  /** What the words of a command may name, the same way: for rules that ask or deny. */
  readonly mentioned: readonly string[];
  /** One command of a command line, as `commandText` writes it; undefined for other tools. */
  readonly command: string | undefined;
  /**
   * The same command in other words, for rules that ask or deny: with its program's name alone, for `/bin/rm` as `rm`, and
   * without the options of git itself, for `git -C . push` as `git push`.
   */
  readonly bareCommands: readonly string[];
}

/** Where a decision is made. */
export interface PolicyPlace {
  readonly mode: ApprovalMode;
  readonly workspace: string;
}

/** Says what a request is about, once for all rules. */
export function policySubject(
  { call, facts, details, changes = [], confinement }: Omit<PolicyRequest, "task">,
  place: PolicyPlace,
): PolicySubject {
  const named = pathsOf(call, details).map((path) => pathInWorkspace(path, place.workspace));
  const paths = [...named, ...changes];
  return {
    call,
    facts: facts ?? {},
    details,
    confinement,
    ...place,
    argsText: canonicalJson(call.inputParameters ?? {}),
    paths,
    changes: details?.case === "fileEditDetails" ? paths : changes,
    mentioned: [],
    command: undefined,
    bareCommands: [],
  };
}

/** The subject, about one command of its command line, and what that line redirects to or from (`< .env`). */
export function aboutCommand(
  subject: PolicySubject,
  [first = "", ...rest]: readonly string[],
  redirections: readonly string[],
): PolicySubject {
  const { workspace, paths } = subject;
  const start = posix.resolve(workspace, paths[0] ?? "");
  const targets = redirections.map((text) => text.slice(text.indexOf(" ") + 1));
  const named = [...rest.flatMap(filesIn), ...targets].map((word) => posix.resolve(start, word));
  const bare = [posix.basename(first), ...rest];
  return {
    ...subject,
    command: commandText([first, ...rest]),
    bareCommands: [bare, ...(bare[0] === "git" ? [readGitCommand(bare).words] : [])].map(commandText),
    mentioned: named.flatMap((path) => [path, ...linkedTo(path)]).map((path) => pathInWorkspace(path, workspace)),
  };
}

/** What of a word can be the path of a file: it can stand in a flag (`--file=.env`, `-f.env`) or in a revision (`HEAD:.env`). */
function filesIn(word: string): string[] {
  const inRevision = [...word.matchAll(/:/g)].map(({ index }) => word.slice(index + 1));
  const inFlag = /^-\w./.test(word) ? [word.slice(2)] : [];
  return [word, word.slice(word.indexOf("=") + 1), ...inFlag, ...inRevision];
}

/** Where a path leads that goes through symbolic links, which programs follow; empty for one that does not. */
function linkedTo(path: string): string[] {
  try {
    const real = realpathSync(path);
    return real === path ? [] : [real];
  } catch {
    return [];
  }
}

/**
 * Writes the words of a command as one text that can be taken apart again: separated by single spaces, in single quotes
 * where a word is more than letters, digits and `_@%+=:,./^~-`.
 */
export function commandText(words: readonly string[]): string {
  return words.map((word) => (/^[\w@%+=:,./^~-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`)).join(" ");
}

/** A path relative to the workspace, without detours. */
export function pathInWorkspace(path: string, workspace: string): string {
  return posix.relative(workspace, posix.resolve(workspace, path));
}

/**
 * Whether a command starts in the workspace itself, since elsewhere the same words do other things, and ends before the agent
 * goes on.
 */
export function isPlainCommand({ call, paths }: PolicySubject): boolean {
  return paths.every((path) => path === "") && call.inputParameters?.background !== true;
}

/** What our own tools call the file or directory they are about. */
const PATH_ARGUMENTS: readonly string[] = ["file_path", "path", "directory", "paths"];

function pathsOf(call: ToolCall, details: PolicyRequest["details"]): string[] {
  if (details?.case === "fileEditDetails" && details.value.filePath !== "") return [details.value.filePath];
  const values = PATH_ARGUMENTS.flatMap((name) => call.inputParameters?.[name] ?? []);
  return values.filter((value) => typeof value === "string");
}
