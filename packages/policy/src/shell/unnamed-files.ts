/** The commands of git that show only names, states and messages. */
const NO_CONTENT: ReadonlySet<string> = new Set(
  "branch tag remote rev-parse rev-list ls-files ls-tree describe shortlog merge-base".split(
    " ",
  ),
);
/** The commands of git that change something, and show it only with a flag. */
const CHANGING: ReadonlySet<string> = new Set(
  (
    "add commit checkout switch restore reset push fetch pull merge rebase cherry-pick revert init clone clean rm mv worktree " +
    "config"
  ).split(" "),
);
/** The flags with which these show what they change. */
const SHOWING_FLAG = /^-(?!-)\w*[pvi]|^--(patch|verbose|interactive)/;
/** The commands of git whose flags say whether they show content. */
const SHOWN_BY_FLAGS: ReadonlySet<string> = new Set(["log", "show", "diff"]);
/** The flags that show content, or search it. */
const CONTENT_FLAG =
  /^-(?!-)\w*[pucUGSLm]|^--(patch|unified|word-diff|raw|cc|check|ext-diff|textconv)/;
/** The flags with which `git status` shows staged changes. */
const VERBOSE_FLAG = /^-(?!-)\w*v|^--v/;
/** The flags that replace the content by a summary. */
const SUMMARY_FLAG =
  /^--(stat|shortstat|numstat|name-only|name-status|summary|no-patch)/;

/**
 * Returns whether a program that only reads may show the content of files that
 * its words do not name.
 *
 * These are the files of a directory or of a commit. An unknown use of a
 * program that can do so counts.
 */
export function showsUnnamedFiles([
  program = "",
  ...args
]: readonly string[]): boolean {
  switch (program.slice(program.lastIndexOf("/") + 1)) {
    case "grep":
    case "egrep":
    case "fgrep":
      return args.some((word) =>
        /^-\w*[rRd]|^--(dereference-)?recursive|^--directories/.test(word),
      );
    case "rg":
    case "ag":
    case "ack":
      return !args.includes("--files");
    case "diff":
      return true;
    case "git": {
      const [command = "", ...flags] = args.filter(
        (word) => word !== "--no-pager",
      );
      if (command === "status") {
        return flags.some((word) => VERBOSE_FLAG.test(word));
      }
      if (NO_CONTENT.has(command)) return false;
      if (CHANGING.has(command)) {
        return flags.some((word) => SHOWING_FLAG.test(word));
      }
      if (!SHOWN_BY_FLAGS.has(command)) return true;
      if (flags.some((word) => CONTENT_FLAG.test(word))) return true;
      return (
        command !== "log" && !flags.some((word) => SUMMARY_FLAG.test(word))
      );
    }
    default:
      return false;
  }
}
