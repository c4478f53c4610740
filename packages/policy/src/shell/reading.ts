/** A command that a shell would run, without the operators around it. */
export interface SimpleCommand {
  /**
   * The words as the program receives them. A word that the shell would expand
   * is kept as it is written.
   */
  readonly words: readonly string[];
  /**
   * `"fed"` when the line gives it an input: by a pipe, a redirection or a
   * heredoc, also one around it. Default: the input of the line.
   */
  readonly input?: "fed" | undefined;
}

/**
 * Why a command line may do something else than run the commands that were read
 * from it.
 */
export type DoubtKind =
  /**
   * It has characters that no command needs: control, bidirectional or
   * invisible ones.
   */
  | "characters"
  /** It is longer, or has more commands, than the analysis accepts. */
  | "limit"
  /** A reader does not understand all of it. */
  | "syntax"
  /** The readers see different commands. */
  | "disagreement"
  /** Which program runs is known only when it runs. */
  | "dynamic"
  /** It sets a variable, which can change what runs. */
  | "assignment"
  /**
   * It joins lines with a backslash. Bash does so before it splits words, and
   * the readers do not do so everywhere.
   */
  | "continuation"
  /** It runs a program that runs another one. */
  | "wrapper"
  /**
   * It uses a builtin that evaluates its arguments or changes how later
   * commands run.
   */
  | "builtin"
  /** It defines a function. */
  | "definition"
  /** It has control flow or a group. */
  | "compound"
  /** A word is expanded before the program receives it. */
  | "expansion"
  /** A redirection opens a file whose name is expanded first. */
  | "target"
  /** It has a heredoc or a here string. */
  | "heredoc"
  /** A command in it runs in the background. */
  | "background";

/** One reason to ask about a command line. */
export interface Doubt {
  readonly kind: DoubtKind;
  /** The reason in words that follow `the command`: `has a group`. */
  readonly text: string;
}

/**
 * The commands, doubts and redirections that one reader sees in a command line.
 */
export interface Reading {
  /**
   * Every simple command, including those in substitutions and in compound
   * commands.
   */
  readonly commands: readonly SimpleCommand[];
  readonly doubts: readonly Doubt[];
  /**
   * The redirections that open a file, as `> out.txt`. Those to `/dev/null` and
   * between standard streams are omitted.
   */
  readonly redirections: readonly string[];
}

/** A reading that a reader fills while it walks the syntax tree. */
export interface MutableReading extends Reading {
  readonly commands: SimpleCommand[];
  readonly doubts: Doubt[];
  readonly redirections: string[];
}

/**
 * Reads a command line. May throw: a line that makes a reader throw is in
 * doubt.
 */
export type ShellReader = (source: string) => Reading;

/** A word as the shell treats it. */
export interface ShellWord {
  /** The value of a literal word, otherwise the text as it is written. */
  readonly value: string;
  /**
   * Why the program may receive something else than the value; undefined when
   * it receives just that.
   */
  readonly doubt: Doubt | undefined;
}

/** Returns the doubt about a redirection whose target is expanded. */
export function targetDoubt(operator: string, target: string): Doubt {
  return {
    kind: "target",
    text: `redirects with ${JSON.stringify(`${operator} ${target}`)}, which is expanded`,
  };
}

/**
 * Returns whether a redirection gives a command something to read. `target` is
 * empty where it is not a literal word.
 */
export function isInput(operator: string, target: string): boolean {
  return operator.includes("<") && target !== "/dev/null";
}

/**
 * Returns whether a command, given as its words with their quotes, only writes
 * an answer, which is not code: `yes`, `echo y`. Behind its pipe no command
 * counts as fed.
 */
export function isAnswer(words: readonly string[]): boolean {
  const [program = "", ...args] = words;
  return (
    /^(yes|echo|printf|true|:)$/.test(program) &&
    args.every((word) => /^(-n|(['"]?)(y|yes|n|no|\d*)(\\n)?\2)$/i.test(word))
  );
}

/** The maximum number of options, and their values, in front of a subcommand. */
export const MAX_OPTIONS = 64;

/** Returns whether a word is an option by its form. */
export function isOption(word = ""): boolean {
  return /^[-+]./.test(word);
}

const HARMLESS_OPERATORS: ReadonlySet<string> = new Set([
  ">",
  ">>",
  "<",
  "&>",
  "&>>",
]);

/**
 * Returns a redirection in the form of `Reading.redirections`, the same for
 * both readers; undefined when it opens no file.
 */
export function redirectionText(
  operator: string,
  target: string,
): string | undefined {
  if (operator.endsWith("&") && /^[12]$/.test(target)) return undefined;
  if (HARMLESS_OPERATORS.has(operator) && target === "/dev/null") {
    return undefined;
  }
  return `${operator} ${target}`;
}
