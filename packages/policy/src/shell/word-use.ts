import { readGitCommand } from "./git-options.ts";
import { readsData } from "./input-readers.ts";
import {
  BETWEEN_WORDS,
  hasProgramFlag,
  isInterpreter,
  readsCode,
  startsInterpreter,
  takesCode,
} from "./interpreters.ts";
import type { SimpleCommand } from "./reading.ts";
import { isSafeCommand } from "./safe-programs.ts";
import { isHarmlessSed } from "./sed-script.ts";

/**
 * What a program does with its words, as far as other programs are concerned.
 *
 * - `data`: no word starts a program.
 * - `names`: a word may be the path of a program; no expansion makes it run one.
 * - `any`: the program may run its words, or be configured by them to run one.
 * - `code`: the program evaluates text in which no reader looks for programs.
 */
export type WordUse = "data" | "names" | "any" | "code";

/** Programs that start no other program, whatever their words are. */
const DATA: ReadonlySet<string> = new Set(
  (
    "ls cat head tail wc pwd true false whoami id uname nproc date basename dirname realpath readlink stat file du df uniq cut " +
    "tr nl comm cmp diff sha256sum md5sum grep egrep fgrep tree echo printf mkdir rmdir touch rm chmod chown tee sleep seq jq " +
    "test [ [[ : cd"
  ).split(" "),
);

/**
 * Programs that start no program with their words, but copy or link one, load
 * code from a file, or build with it.
 */
const NAMES: ReadonlySet<string> = new Set(
  (
    "cp mv ln install make gmake bmake tsc eslint prettier biome ruff mypy black pytest jest vitest gofmt rustfmt " +
    "which curl"
  ).split(" "),
);

/**
 * The commands of git that start no program with their words. The others have
 * such a flag (`rebase --exec`, `fetch --upload-pack`) or run their words
 * (`submodule foreach`, `bisect run`), or are aliases.
 */
const GIT_DATA: ReadonlySet<string> = new Set(
  (
    "add apply blame branch cat-file check-ignore checkout cherry-pick clean commit describe diff init log ls-files ls-tree " +
    "merge-base mv name-rev notes reflog reset restore rev-list rev-parse revert rm shortlog show show-ref sparse-checkout " +
    "stash status switch symbolic-ref tag"
  ).split(" "),
);

/** Editors, databases and debuggers, whose commands can run a shell. */
const WITH_SHELL: ReadonlySet<string> = new Set(
  (
    "ed red ex vi vim view nvim emacs sqlite3 psql mysql mariadb gnuplot octave m4 dc ftp sftp irb pry ghci jshell " +
    "lldb mongosh mongo duckdb r2 radare2"
  ).split(" "),
);
const PAGER = /^(less|more)$/;
/** A debugger of tests, which reads commands from the input. */
const DEBUGGED = /^--(pdb|trace)$/;
const SED = /^g?sed$/;
/** What these run is read from their words, unless those are expanded. */
const READ_BEFORE = /^([gmn]?awk|original-awk|g?find)$/;

/** A redirection of the input, and the characters around names beside it. */
const INPUT = /\d?<+&?\s*\S*/g;
const INPUT_OR_SPACE = /[\s=;&|(){}`<]+/;
/** A tag of HTML, or a placeholder. */
const TAG = /<[/!]?[a-z][^<>]*>/gi;

/**
 * Returns what the program of a command does with its words.
 *
 * `isExpanded` says whether the shell may expand a word first.
 */
export function wordUse(
  command: SimpleCommand,
  isExpanded: (word: string) => boolean,
): WordUse {
  const [first = "", ...args] = command.words;
  const name = first.slice(first.lastIndexOf("/") + 1);
  const use = ownUse(name, command, isExpanded);
  const isFed = command.input === "fed";
  if (isFed && args.some((word) => DEBUGGED.test(word))) return "code";
  if (use !== "any") return use;
  const isData = isRead(name, command) || readsData(command.words);
  const isCode =
    startsInterpreter(name, args) ||
    (isFed && !isData) ||
    args.some(hasFedProgram);
  return isCode ? "code" : "any";
}

/**
 * Whether a word has a command line that gives a program an input which is not
 * known to be data for it: `cat a | sh`, `sh < a`.
 */
function hasFedProgram(word: string): boolean {
  const isLine = /\s/.test(word);
  const isFed = (text: string): boolean => {
    const words = text.split(BETWEEN_WORDS).filter((part) => part !== "");
    return isLine
      ? wordUse({ words, input: "fed" }, () => false) === "code"
      : readsCode(words[0] ?? "");
  };
  // No line of commands starts with a pipe, but one of a table does.
  const lines = word.split("\n").filter((line) => !/^\s*\|/.test(line));
  return lines.some((line) => {
    const parts = line.split(/(?<!\|)\|(?!\|)/);
    return parts.some((part, at) => {
      if (isLine && hasProgramFlag(part.split(BETWEEN_WORDS))) return true;
      if (at > 0 && isFed(part)) return true;
      if (!part.includes("<")) return false;
      if (part.split(INPUT_OR_SPACE).some(readsCode)) return true;
      const rest = part.replaceAll(TAG, "");
      return isLine && rest.includes("<") && isFed(rest.replace(INPUT, ""));
    });
  });
}

function ownUse(
  name: string,
  command: SimpleCommand,
  isExpanded: (word: string) => boolean,
): WordUse {
  const args = command.words.slice(1);
  if (DATA.has(name)) return "data";
  if (NAMES.has(name)) return "names";
  if (WITH_SHELL.has(name)) return "code";
  if (isInterpreter(name)) return takesCode(name, args) ? "code" : "any";
  if (name === "git") {
    const subcommand = readGitCommand(command.words).words[1] ?? "";
    return GIT_DATA.has(subcommand) ? "data" : "any";
  }
  if (PAGER.test(name)) return args.every(isPlainFlag) ? "data" : "code";
  if (SED.test(name) && !isHarmlessSed(args)) return "code";
  return isRead(name, command) && !args.some(isExpanded) ? "data" : "any";
}

function isRead(name: string, command: SimpleCommand): boolean {
  return SED.test(name) || READ_BEFORE.test(name) || isSafeCommand(command);
}

/** Whether a word of a pager is a file, or flags that run nothing. */
function isPlainFlag(word: string): boolean {
  return !/^[-+]/.test(word) || /^-[eEFgGiIJmMnNqQrRsSuUwWX]+$/.test(word);
}
