/** A command of git without the options that stand in front of it. */
export interface GitCommandLine {
  /** `git`, its command and what follows. */
  readonly words: readonly string[];
  /** The settings that it brings, as `alias.x=!rm y`; a path for `--exec-path`. */
  readonly settings: readonly string[];
}

/** Options of git itself whose value may be the next word. */
const WITH_VALUE: ReadonlySet<string> = new Set(
  "-C -c --git-dir --work-tree --namespace --config-env --super-prefix --attr-source --exec-path".split(" "),
);
const SETTING = /^(-c|--config-env|--exec-path)$/;

/** Reads a command line whose first word is git, by whatever path. */
export function readGitCommand([_git, ...args]: readonly string[]): GitCommandLine {
  const settings: string[] = [];
  let at = 0;
  for (; args[at]?.startsWith("-"); at++) {
    const word = args[at] ?? "";
    const equals = word.startsWith("--") ? word.indexOf("=") : -1;
    const name = equals < 0 ? word : word.slice(0, equals);
    // `--exec-path` alone only shows where that is.
    const takesNext = equals < 0 && WITH_VALUE.has(name) && name !== "--exec-path";
    const value = equals < 0 ? (takesNext ? (args[++at] ?? "") : "") : word.slice(equals + 1);
    if (SETTING.test(name) && value !== "") settings.push(value);
  }
  return { words: ["git", ...args.slice(at)], settings };
}
