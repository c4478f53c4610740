import { type ArgumentGrammar, allowsArguments } from "./argument-grammar.ts";
import { GIT_COMMANDS } from "./git-commands.ts";
import type { SimpleCommand } from "./reading.ts";

/**
 * The programs that only read, with the arguments for which that holds.
 *
 * No flag of these writes a file, runs a program or sends anything. The sandbox
 * limits which files they can read.
 */
const PROGRAMS: ReadonlyMap<string, ArgumentGrammar> = new Map(
  Object.entries<ArgumentGrammar>({
    ls: {
      letters: "aAlhrtS1RdFipnosLHgGkmqQUXxCcuZ",
      flags: [
        "--all",
        "--almost-all",
        "--color",
        "--human-readable",
        "--recursive",
        "--reverse",
        "--directory",
        "--classify",
        "--group-directories-first",
      ],
      valueFlags: ["--sort", "--time"],
    },
    cat: { letters: "nbsAeEtTv" },
    head: {
      letters: "qv",
      valueLetters: "nc",
      valueFlags: ["--lines", "--bytes"],
      numeric: "allowed",
    },
    tail: {
      letters: "qv",
      valueLetters: "nc",
      valueFlags: ["--lines", "--bytes"],
      numeric: "allowed",
    },
    wc: {
      letters: "lwcmL",
      flags: ["--lines", "--words", "--bytes", "--chars"],
    },
    pwd: { letters: "LP", maxOperands: 0 },
    true: { maxOperands: 0 },
    false: { maxOperands: 0 },
    whoami: { maxOperands: 0 },
    id: { letters: "ugnG", maxOperands: 0 },
    uname: { letters: "asnrmvpio", maxOperands: 0 },
    nproc: { maxOperands: 0 },
    date: {
      letters: "uI",
      flags: ["--utc", "--iso-8601"],
      maxOperands: 1,
      operand: /^\+/,
    },
    basename: { letters: "az", valueLetters: "s" },
    dirname: { letters: "z" },
    realpath: { letters: "emqsz" },
    readlink: { letters: "femnqz" },
    which: { letters: "a" },
    stat: { letters: "Lt", valueLetters: "c", valueFlags: ["--format"] },
    file: { letters: "biLhN", flags: ["--brief", "--mime", "--mime-type"] },
    du: { letters: "shackmbx", valueLetters: "d", valueFlags: ["--max-depth"] },
    df: { letters: "hkTi" },
    sort: { letters: "nrubfgdhiMsVcz", valueLetters: "kt" },
    uniq: { letters: "cduiz", valueLetters: "fsw", maxOperands: 1 },
    cut: {
      letters: "sz",
      valueLetters: "dfcb",
      valueFlags: ["--delimiter", "--fields"],
      flags: ["--complement"],
    },
    tr: { letters: "dscCt" },
    nl: { letters: "p", valueLetters: "bwsv" },
    comm: { letters: "123iz" },
    cmp: { letters: "sbl", valueLetters: "n" },
    diff: {
      letters: "urqNwbiBsaT",
      valueLetters: "U",
      flags: ["--brief", "--recursive", "--unified", "--color"],
    },
    sha256sum: { letters: "btz" },
    md5sum: { letters: "btz" },
    grep: {
      letters: "nriRlLcvwxEFPohHsqaIzZ",
      valueLetters: "ABCme",
      flags: [
        "--color",
        "--line-number",
        "--ignore-case",
        "--recursive",
        "--count",
        "--word-regexp",
        "--invert-match",
        "--files-with-matches",
        "--extended-regexp",
        "--fixed-strings",
      ],
      valueFlags: [
        "--include",
        "--exclude",
        "--exclude-dir",
        "--max-count",
        "--context",
        "--after-context",
        "--before-context",
        "--regexp",
      ],
    },
    rg: {
      letters: "nilcvwFSsoUHIPaL0",
      valueLetters: "ABCmegtT",
      flags: [
        "--files",
        "--hidden",
        "--no-ignore",
        "--json",
        "--line-number",
        "--ignore-case",
        "--smart-case",
        "--files-with-matches",
        "--count",
        "--fixed-strings",
        "--word-regexp",
        "--no-heading",
        "--multiline",
        "--stats",
        "--color",
      ],
      valueFlags: [
        "--glob",
        "--iglob",
        "--type",
        "--type-not",
        "--max-count",
        "--max-depth",
        "--context",
        "--after-context",
        "--before-context",
        "--regexp",
        "--sort",
      ],
    },
    tree: {
      letters: "adfhpsugDFrt",
      valueLetters: "LIP",
      flags: ["--dirsfirst", "--noreport", "--gitignore"],
    },
  }),
);

/** Tests of find that take a value. */
const FIND_TESTS = new Set(
  "-name -iname -path -ipath -type -maxdepth -mindepth -size -mtime -mmin -newer -regex -iregex -perm -user".split(
    " ",
  ),
);
/** Words of find's expressions that take no value, and its global flags. */
const FIND_WORDS = new Set(
  "-not ! -o -or -a -and ( ) -empty -print -print0 -prune -depth -xdev -L -P -H".split(
    " ",
  ),
);

/**
 * Returns whether a command only reads: its program is known, and all its
 * arguments are allowed.
 */
export function isSafeCommand({ words }: SimpleCommand): boolean {
  const [program = "", ...args] = words;
  switch (program) {
    case "echo":
    case "printf":
      return true;
    case "find":
      // The arguments form an expression: a word that starts with a dash must
      // be a known test, operator or flag.
      for (let at = 0; at < args.length; at++) {
        const word = args[at] ?? "";
        if (FIND_WORDS.has(word)) continue;
        if (!FIND_TESTS.has(word)) {
          if (word.startsWith("-")) return false;
          continue;
        }
        const value = args[++at];
        if (value === undefined || /^-(?!\d)/.test(value)) return false;
      }
      return true;
    case "git": {
      const [subcommand = "", ...rest] =
        args[0] === "--no-pager" ? args.slice(1) : args;
      const grammar = GIT_COMMANDS.get(subcommand);
      // `%G` in a format makes git run the program that checks signatures.
      return (
        grammar !== undefined &&
        allowsArguments(grammar, rest) &&
        !rest.some((word) => word.includes("%G"))
      );
    }
    default: {
      const grammar = PROGRAMS.get(program);
      return grammar !== undefined && allowsArguments(grammar, args);
    }
  }
}
