/**
 * A git command line, split into the command and the options of git itself that
 * precede it.
 */
export interface GitCommandLine {
  /** `git`, the command and its arguments. */
  readonly words: readonly string[];
  /**
   * The settings that the options give, such as `alias.x=!rm y`; for
   * `--exec-path`, the path.
   */
  readonly settings: readonly string[];
}

/** The options of git itself whose value may be the next word. */
const WITH_VALUE: ReadonlySet<string> = new Set(
  "-C -c --git-dir --work-tree --namespace --config-env --super-prefix --attr-source --exec-path".split(
    " ",
  ),
);
const SETTING = /^(-c|--config-env|--exec-path)$/;

/**
 * Splits a command line whose first word is git, with or without a directory.
 */
export function readGitCommand([
  _git,
  ...args
]: readonly string[]): GitCommandLine {
  const settings: string[] = [];
  let at = 0;
  for (; args[at]?.startsWith("-"); at++) {
    const word = args[at] ?? "";
    const equals = word.startsWith("--") ? word.indexOf("=") : -1;
    const name = equals < 0 ? word : word.slice(0, equals);
    // Without a value, `--exec-path` prints the path and takes no next word.
    const takesNext =
      equals < 0 && WITH_VALUE.has(name) && name !== "--exec-path";
    const value =
      equals < 0
        ? takesNext
          ? (args[++at] ?? "")
          : ""
        : word.slice(equals + 1);
    if (SETTING.test(name) && value !== "") settings.push(value);
  }
  return { words: ["git", ...args.slice(at)], settings };
}
