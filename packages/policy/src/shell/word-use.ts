import { readGitCommand } from "./git-options.ts";
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

/** Programs with a language of their own, which evaluate what they are given. */
const INTERPRETER =
  /^(python|pypy|node|nodejs|perl|ruby|php|lua|luajit|tclsh|wish|Rscript|R|julia|runghc|groovy|scala|elixir|erl|osascript)[\d.]*$/;
/** The same, with commands: `deno eval`. */
const RUNTIME = /^(deno|bun)$/;
/** The flags, and commands of runtimes, that take code. */
const INLINE_CODE =
  /^(-\w*[ceEprRB]|--(eval|print|command|execute|run)\b|eval$|repl$)/;
/** The flags with which an interpreter without a file reads no code. */
const READS_NO_CODE = /^(--(version|help|test|check)|-[vVh])$/;
/** Editors, databases and debuggers, whose commands can run a shell. */
const WITH_SHELL: ReadonlySet<string> = new Set(
  (
    "ed red ex vi vim view nvim emacs sqlite3 psql mysql mariadb gnuplot octave m4 dc less more ftp sftp irb pry ghci jshell " +
    "lldb"
  ).split(" "),
);
/** What these run is read from their words, unless those are expanded. */
const READ_BEFORE = /^([gmn]?awk|original-awk|g?find|fd|fdfind)$/;
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
  if (DATA.has(name)) return "data";
  if (NAMES.has(name)) return "names";
  if (WITH_SHELL.has(name)) return "code";
  if (INTERPRETER.test(name)) return takesCode(args) ? "code" : "any";
  if (RUNTIME.test(name) && INLINE_CODE.test(args[0] ?? "eval")) return "code";
  if (name === "git") {
    const subcommand = readGitCommand(command.words).words[1] ?? "";
    return GIT_DATA.has(subcommand) ? "data" : "any";
  }
  const isSed = /^g?sed$/.test(name);
  if (isSed && !isHarmlessSed(args)) return "code";
  const isRead = isSed || READ_BEFORE.test(name) || isSafeCommand(command);
  return isRead && !args.some(isExpanded) ? "data" : "any";
}

/**
 * Returns whether an interpreter takes code from its words or its input. The
 * words behind its file, the first one that neither is a flag nor follows one,
 * are for that file.
 */
function takesCode(args: readonly string[]): boolean {
  const isFlag = (word = ""): boolean => /^-./.test(word);
  const file = args.findIndex(
    (word, index) => !isFlag(word) && !isFlag(args[index - 1]),
  );
  const own = file < 0 ? args : args.slice(0, file + 1);
  const readsInput = own.every(isFlag) || own.at(-1) === "-";
  return (
    own.some((word) => isFlag(word) && INLINE_CODE.test(word)) ||
    (readsInput && !own.some((word) => READS_NO_CODE.test(word)))
  );
}
