import { posix } from "node:path";
import type { JsonValue } from "@bufbuild/protobuf";
import type { ApprovalMode, ToolCall } from "@devtool/schema";
import type { PolicyRequest } from "../policy-engine.ts";
import type { ToolFacts } from "../tool.ts";

/** What the conditions of rules are held against. */
export interface PolicySubject {
  readonly call: ToolCall;
  readonly facts: ToolFacts;
  readonly details: PolicyRequest["details"];
  readonly mode: ApprovalMode;
  /** The absolute path of the workspace. */
  readonly workspace: string;
  /** The arguments as JSON with sorted keys and no spaces. */
  readonly argsText: string;
  /** The files that the call names, relative to the workspace; one outside of it starts with `..`. */
  readonly paths: readonly string[];
  /** What the words of a command may name, the same way: for rules that ask or deny. */
  readonly mentioned: readonly string[];
  /** One command of a command line, as `commandText` writes it; undefined for other tools. */
  readonly command: string | undefined;
  /** The same command with its program's name alone, for `/bin/rm` as `rm`: for rules that ask or deny. */
  readonly bareCommand: string | undefined;
}

/** Where a decision is made. */
export interface PolicyPlace {
  readonly mode: ApprovalMode;
  readonly workspace: string;
}

/** Says what a request is about, once for all rules. */
export function policySubject({ call, facts, details }: PolicyRequest, place: PolicyPlace): PolicySubject {
  return {
    call,
    facts: facts ?? {},
    details,
    ...place,
    argsText: canonicalJson(call.inputParameters ?? {}),
    paths: pathsOf(call, details).map((path) => pathInWorkspace(path, place.workspace)),
    mentioned: [],
    command: undefined,
    bareCommand: undefined,
  };
}

/** The subject, about one command of its command line. */
export function aboutCommand(subject: PolicySubject, [first = "", ...rest]: readonly string[]): PolicySubject {
  const { workspace, paths } = subject;
  const start = posix.resolve(workspace, paths[0] ?? "");
  // A file can stand in a flag: `--file=.env`.
  const named = rest.flatMap((word) => [word, word.slice(word.indexOf("=") + 1)]);
  return {
    ...subject,
    command: commandText([first, ...rest]),
    bareCommand: commandText([posix.basename(first), ...rest]),
    mentioned: named.map((word) => pathInWorkspace(posix.resolve(start, word), workspace)),
  };
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

/** What our own tools call the file or directory they are about. */
const PATH_ARGUMENTS: readonly string[] = ["file_path", "path", "directory", "paths"];

function pathsOf(call: ToolCall, details: PolicyRequest["details"]): string[] {
  if (details?.case === "fileEditDetails" && details.value.filePath !== "") return [details.value.filePath];
  const values = PATH_ARGUMENTS.flatMap((name) => call.inputParameters?.[name] ?? []);
  return values.filter((value) => typeof value === "string");
}

function canonicalJson(value: JsonValue): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  const entries = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return `{${entries.map(([key, item]) => `${JSON.stringify(key)}:${canonicalJson(item)}`).join(",")}}`;
}
