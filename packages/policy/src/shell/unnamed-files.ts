/**
 * Returns whether a program that only reads shows what is in files that its words do not name: those of a directory, or
 * of a commit. In doubt it does.
 */
export function showsUnnamedFiles([program = "", ...args]: readonly string[]): boolean {
  switch (program.slice(program.lastIndexOf("/") + 1)) {
    case "grep":
    case "egrep":
    case "fgrep":
      return args.some((word) => /^-\w*[rRd]|^--(dereference-)?recursive|^--directories/.test(word));
    case "rg":
    case "ag":
    case "ack":
      return !args.includes("--files");
    case "diff":
      return true;
    case "git":
      return isGitContent(args.filter((word) => word !== "--no-pager"));
    default:
      return false;
  }
}

function isGitContent([command = "", ...args]: readonly string[]): boolean {
  if (command === "status") return args.some((word) => VERBOSE_FLAG.test(word));
  if (NO_CONTENT.has(command)) return false;
  if (!SHOWN_BY_FLAGS.has(command)) return true;
  if (args.some((word) => CONTENT_FLAG.test(word))) return true;
  return command !== "log" && !args.some((word) => SUMMARY_FLAG.test(word));
}

/** The commands of git that show names, states and messages. */
const NO_CONTENT: ReadonlySet<string> = new Set(
  "branch tag remote rev-parse rev-list ls-files ls-tree describe shortlog merge-base".split(" "),
);
/** Those that show content or not, by their flags. */
const SHOWN_BY_FLAGS: ReadonlySet<string> = new Set(["log", "show", "diff"]);
/** Flags that show content, or search it. */
const CONTENT_FLAG = /^-(?!-)\w*[pucUGSLm]|^--(patch|unified|word-diff|raw|cc|check|ext-diff|textconv)/;
/** `git status` shows what is staged with these. */
const VERBOSE_FLAG = /^-(?!-)\w*v|^--v/;
const SUMMARY_FLAG = /^--(stat|shortstat|numstat|name-only|name-status|summary|no-patch)/;
