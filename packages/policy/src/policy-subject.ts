import { lstatSync, readlinkSync } from "node:fs";
import { posix } from "node:path";
import { canonicalJson } from "@devtool/internal/json";
import type { ApprovalMode, ToolCall } from "@devtool/schema";
import type { PolicyRequest, ToolFacts } from "./policy-engine.ts";
import { readGitCommand } from "./shell/git-options.ts";
import { isOption, MAX_OPTIONS } from "./shell/reading.ts";

/** For whom an agent works. */
export interface PolicyCaller {
  /** The authenticated principal, such as `https://login.example#ada`. */
  readonly principal: string;
  /** The roles that the caller had when it sent what the agent works on. */
  readonly roles: readonly string[];
  /** The name of the agent. Empty when that is not known. */
  readonly agent: string;
}

/** The values that the conditions of rules are compared with. */
export interface PolicySubject {
  readonly call: ToolCall;
  readonly facts: ToolFacts;
  readonly details: PolicyRequest["details"];
  /** `"none"` when the call runs without a sandbox. */
  readonly confinement: PolicyRequest["confinement"];
  readonly mode: ApprovalMode;
  /** The absolute path of the workspace. */
  readonly workspace: string;
  /** For whom the agent works; undefined when that is not known. */
  readonly caller?: PolicyCaller | undefined;
  /** The arguments as JSON with sorted keys and no spaces. */
  readonly argsText: string;
  /**
   * The files that the call names or changes, relative to the workspace; a path
   * outside of it starts with `..`.
   */
  readonly paths: readonly string[];
  /** The subset of `paths` that the call changes. */
  readonly changes: readonly string[];
  /**
   * The paths that the words of a command may name, in the same form. Only
   * rules that ask or deny consider them.
   */
  readonly mentioned: readonly string[];
  /**
   * The names of the programs that the program of a command may be by links, and
   * of the files that its words lead to by links.
   */
  readonly linked: {
    readonly program: readonly string[];
    readonly words: readonly string[];
  };
  /**
   * One command of a command line, as `commandText` writes it; undefined for a
   * call as a whole.
   */
  readonly command: string | undefined;
  /**
   * Other spellings of the command that rules which ask or deny also match.
   *
   * The program without its directory (`rm` for `/bin/rm`), and without the
   * options in front of its subcommand (`git push` for `git -C . push`).
   */
  readonly bareCommands: readonly string[];
}

/** Where a decision applies. */
export interface PolicyPlace {
  /**
   * How far the agent may go without asking; may be a getter, which is read for
   * each decision.
   */
  readonly mode: ApprovalMode;
  /** The absolute path of the workspace. */
  readonly workspace: string;
  /**
   * For whom the agent works; may be a getter, which is read for each decision.
   *
   * Default: nobody is known. A rule about a principal, a role or an agent then
   * applies if it asks or denies, and not if it allows.
   */
  readonly caller?: PolicyCaller | undefined;
}

/**
 * The maximum number of colons in the name of a file that is found behind
 * another one, as in a revision.
 */
const MAX_COLONS = 16;

/** The characters between the paths in a word. */
export const BETWEEN_PATHS: RegExp = /[^\w./%+~-]+/;

/** The arguments of our own tools that name a file or directory. */
const PATH_ARGUMENTS: readonly string[] = [
  "file_path",
  "path",
  "directory",
  "paths",
];

/**
 * Returns the subject of a request. It is computed once and then compared with
 * every rule.
 */
export function policySubject(
  request: PolicyRequest,
  place: PolicyPlace,
): PolicySubject {
  const { call, facts = {}, details, changes = [], confinement } = request;
  const edited =
    details?.case === "fileEditDetails" ? details.value.filePath : "";
  const args = PATH_ARGUMENTS.flatMap(
    (name) => call.inputParameters?.[name] ?? [],
  );
  const named =
    edited === ""
      ? args.filter((value) => typeof value === "string")
      : [edited];
  const paths = [
    ...named.map((path) => pathInWorkspace(path, place.workspace)),
    ...changes,
  ];
  return {
    call,
    facts,
    details,
    confinement,
    ...place,
    argsText: canonicalJson(call.inputParameters ?? {}),
    paths,
    changes: details?.case === "fileEditDetails" ? paths : changes,
    mentioned: [],
    linked: NO_LINKS,
    command: undefined,
    bareCommands: [],
  };
}

/** The links of a call other than a command. */
export const NO_LINKS: PolicySubject["linked"] = { program: [], words: [] };

/**
 * Returns the subject narrowed to one command of its command line.
 *
 * `redirections` are those of the whole line (`< .env`): the files that they
 * open count as mentioned by each command.
 */
export function aboutCommand(
  subject: PolicySubject,
  words: readonly string[],
  redirections: readonly string[],
): PolicySubject {
  const { workspace } = subject;
  const [program = "", ...args] = words;
  const directories = directoriesOf(subject);
  const targets = redirections.map((text) => text.slice(text.indexOf(" ") + 1));
  // A path can be a part of a word: of a flag (`--file=.env`, `-nf.env`) or of a
  // revision (`HEAD:.env`).
  const parts = args.flatMap((word) => {
    const [flags = ""] = /^-\w{1,8}(?=.)/s.exec(word) ?? [];
    const inFlag = Array.from(flags.slice(1), (_flag, at) =>
      word.slice(at + 2),
    );
    const inRevision = [...word.matchAll(/:/g)]
      .slice(-MAX_COLONS)
      .map(({ index }) => word.slice(index + 1));
    return [word, word.slice(word.indexOf("=") + 1), ...inFlag, ...inRevision];
  });
  const opened = [...new Set([...parts, ...targets])].map((word) =>
    pathsOfWord(directories, word),
  );
  const behind = (paths: readonly string[]): string[] =>
    paths.slice(1).map((path) => posix.basename(path));
  const linked = {
    program: program.includes("/")
      ? behind(pathsOfWord(directories, program))
      : [],
    words: [
      ...opened,
      ...args
        .flatMap((word) => word.split(BETWEEN_PATHS))
        .map((part) => pathsOfWord(directories, part)),
    ].flatMap(behind),
  };
  return {
    ...subject,
    command: commandText([program, ...args]),
    bareCommands: [program, ...linked.program].flatMap((name) =>
      bareSpellings([name, ...args]).map(commandText),
    ),
    linked,
    mentioned: opened.flat().map((path) => pathInWorkspace(path, workspace)),
  };
}

/** The maximum number of links that are followed, as in Linux. */
const MAX_LINKS = 40;
/** What a process has as its root, its directory or an open one. */
const OF_PROCESS =
  /(^|\/)proc\/(self|\d+)(\/task\/\d+)?\/((cwd|root)(\/|$)|fd\/\d+\/)/;

/**
 * Returns the absolute paths of the directory in which a command runs: as it is
 * named, and behind each link.
 */
export function directoriesOf({
  workspace,
  paths,
}: Pick<PolicySubject, "workspace" | "paths">): readonly string[] {
  return pathsBelow(workspace, paths[0] ?? "");
}

/**
 * Returns the absolute paths by which a command may open the file that a word
 * names in any of `directories`: as a text, and behind each link.
 *
 * A link of a process is not followed: this one has another directory.
 */
export function pathsOfWord(
  directories: readonly string[],
  word: string,
): string[] {
  const paths = directories.flatMap((from) => pathsBelow(from, word));
  return directories.length === 1 ? paths : [...new Set(paths)];
}

function pathsBelow(directory: string, word: string): string[] {
  const paths = new Set([posix.resolve(directory, word)]);
  const ahead = word.split("/").reverse();
  let at = word.startsWith("/") ? "/" : directory;
  const rest = (): string => posix.join(at, ...ahead.toReversed());
  while (ahead.length > 0 && paths.size <= MAX_LINKS) {
    // Links are followed before `..` is: `link/..` may be anywhere.
    at = posix.join(at, ahead.pop() ?? "");
    if (OF_PROCESS.test(`${at}/`)) break;
    const target = linkTarget(at);
    if (target === "none") break;
    if (target === undefined) continue;
    at = target.startsWith("/") ? "/" : posix.dirname(at);
    ahead.push(...target.split("/").reverse());
    paths.add(rest());
  }
  return [...paths.add(rest())];
}

/**
 * Returns whether a path leads through a link of a process, which may lead to
 * any file.
 */
export function isOfProcess(path: string): boolean {
  return OF_PROCESS.test(path);
}

/** Where a link leads; undefined for a file, `none` where nothing is found. */
function linkTarget(path: string): string | undefined {
  try {
    // Most words of a command are no files, and to throw takes longer.
    const file = lstatSync(path, { throwIfNoEntry: false });
    if (!file) return "none";
    return file.isSymbolicLink() ? readlinkSync(path) : undefined;
  } catch {
    return "none";
  }
}

/**
 * Returns a command without the directory of its program, and without the
 * options in front of its subcommand (`npm publish` for `npm -w x publish`).
 *
 * Only for git is it known which options take the next word as their value. For
 * another program both cases are returned.
 */
export function bareSpellings([
  program = "",
  ...args
]: readonly string[]): (readonly string[])[] {
  const name = posix.basename(program);
  const bare = [name, ...args];
  if (name === "git") return [bare, readGitCommand(bare).words];
  // The program of a subcommand: `/usr/lib/git-core/git-push`.
  if (name.startsWith("git-")) return [bare, ["git", name.slice(4), ...args]];
  const spellings = [bare];
  const end = Math.min(args.length, MAX_OPTIONS);
  for (let at = 0; at < end; at++) {
    if (!isOption(args[at]) && !isOption(args[at - 1])) break;
    spellings.push([name, ...args.slice(at + 1)]);
  }
  return spellings;
}

/**
 * Writes the words of a command as one text from which the words can be
 * recovered.
 *
 * Words are separated by single spaces. A word that holds more than letters,
 * digits and `_@%+=:,./^~-` is in single quotes.
 */
export function commandText(words: readonly string[]): string {
  return words
    .map((word) =>
      /^[\w@%+=:,./^~-]+$/.test(word)
        ? word
        : `'${word.replaceAll("'", "'\\''")}'`,
    )
    .join(" ");
}

/**
 * Returns a path relative to the workspace and normalized: `..` segments remain
 * only at the start.
 */
export function pathInWorkspace(path: string, workspace: string): string {
  return posix.relative(workspace, posix.resolve(workspace, path));
}

/**
 * Returns whether a path that `pathInWorkspace` returned leads out of the
 * workspace.
 */
export function isOutside(path: string): boolean {
  return path === ".." || path.startsWith("../");
}

/**
 * Returns whether a command starts in the workspace itself: in another
 * directory the same words can do other things.
 */
export function startsInWorkspace({ paths }: PolicySubject): boolean {
  return paths.every((path) => path === "");
}

/**
 * Returns whether a command starts in the workspace itself and runs in the
 * foreground. Only such a command can be saved.
 */
export function isPlainCommand(subject: PolicySubject): boolean {
  return (
    startsInWorkspace(subject) &&
    subject.call.inputParameters?.background !== true
  );
}
