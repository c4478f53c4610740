import type { ArgumentGrammar } from "./argument-grammar.ts";

const LOG_FLAGS: readonly string[] = (
  "--oneline --graph --all --patch --stat --shortstat --numstat --name-only --name-status --follow --decorate --reverse " +
  "--merges --no-merges --first-parent --no-color --color --abbrev-commit --cached --staged --summary --word-diff " +
  "--ignore-all-space --ignore-space-change --check --no-ext-diff --no-textconv --no-patch --branches --tags --remotes " +
  "--format --pretty --date --find-renames --unified --raw --minimal --histogram --patience --invert-grep"
).split(" ");

const LOG_VALUE_FLAGS: readonly string[] =
  "--max-count --skip --since --until --after --before --author --committer --grep --diff-filter".split(
    " ",
  );

const LOG: ArgumentGrammar = {
  letters: "puswbzci",
  valueLetters: "nSGLUM",
  flags: LOG_FLAGS,
  valueFlags: LOG_VALUE_FLAGS,
  numeric: "allowed",
};

/**
 * The commands of git that only read, by their names, with the arguments for
 * which that holds.
 *
 * Git also runs programs that the repository's configuration names (a pager, a
 * diff driver, a file system monitor). No argument prevents that; instead the
 * configuration is guarded, and the sandbox makes it read-only.
 */
export const GIT_COMMANDS: ReadonlyMap<string, ArgumentGrammar> = new Map(
  Object.entries<ArgumentGrammar>({
    log: LOG,
    show: LOG,
    diff: LOG,
    status: {
      letters: "sbzv",
      flags: [
        "--short",
        "--branch",
        "--porcelain",
        "--long",
        "--untracked-files",
        "--ignored",
        "--show-stash",
      ],
    },
    branch: {
      letters: "arv",
      flags: ["--list", "--show-current", "--all", "--remotes", "--verbose"],
      maxOperands: 0,
    },
    tag: { letters: "l", flags: ["--list"], maxOperands: 0 },
    remote: { letters: "v", flags: ["--verbose"], maxOperands: 0 },
    "rev-parse": {
      flags: (
        "--show-toplevel --abbrev-ref --short --verify --quiet --git-dir --is-inside-work-tree --show-prefix " +
        "--is-bare-repository --symbolic-full-name"
      ).split(" "),
    },
    "rev-list": {
      flags: ["--count", "--all", "--no-merges", "--first-parent"],
      valueFlags: ["--max-count"],
      valueLetters: "n",
    },
    "ls-files": {
      letters: "codmstzu",
      flags: [
        "--cached",
        "--others",
        "--deleted",
        "--modified",
        "--stage",
        "--exclude-standard",
        "--full-name",
      ],
    },
    "ls-tree": {
      letters: "drtlz",
      flags: ["--name-only", "--full-name", "--full-tree"],
    },
    blame: {
      letters: "wslef",
      valueLetters: "L",
      flags: ["--porcelain", "--line-porcelain"],
    },
    describe: { flags: ["--tags", "--always", "--dirty", "--long", "--all"] },
    shortlog: { letters: "sne" },
    "merge-base": { letters: "a", flags: ["--all", "--is-ancestor"] },
    "cat-file": { letters: "pts" },
    grep: { letters: "niIlLcwvEFPoq", valueLetters: "ABCe" },
  }),
);
