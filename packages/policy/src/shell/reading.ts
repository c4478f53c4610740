/** A command that a shell would run, without what surrounds it. */
export interface SimpleCommand {
  /** The words as the program gets them; a word that the shell would expand stands as it is written. */
  readonly words: readonly string[];
}

/** Why a command line is not simply the commands that were read from it. */
export type DoubtKind =
  /** It has characters that no command needs: control, direction or invisible ones. */
  | "characters"
  /** It is longer, or holds more commands, than is looked at. */
  | "limit"
  /** A reader does not understand all of it. */
  | "syntax"
  /** The readers see different commands. */
  | "disagreement"
  /** What is run is known only when it runs. */
  | "dynamic"
  /** It sets a variable, which can change what runs. */
  | "assignment"
  /** It joins lines with a backslash: bash does so before it reads words, and readers do not do so everywhere. */
  | "continuation"
  /** It runs a program that runs another one. */
  | "wrapper"
  /** It uses a builtin that changes what follows or evaluates its arguments. */
  | "builtin"
  /** It defines a function. */
  | "definition"
  /** It has control flow or a group. */
  | "compound"
  /** A word is expanded before the program gets it. */
  | "expansion"
  /** A redirection opens a file whose name is expanded first. */
  | "target"
  /** It carries a text as input. */
  | "heredoc"
  /** It goes on in the background. */
  | "background";

/** One reason to ask. */
export interface Doubt {
  readonly kind: DoubtKind;
  /** What it is about, for a person. */
  readonly text: string;
}

/** What one reader sees in a command line. */
export interface Reading {
  /** Every simple command, those of substitutions and compounds included. */
  readonly commands: readonly SimpleCommand[];
  readonly doubts: readonly Doubt[];
  /** Redirections that open a file, as `> out.txt`; those to `/dev/null` and between the standard streams are left out. */
  readonly redirections: readonly string[];
}

/** Reads a command line. Does not throw. */
export type ShellReader = (source: string) => Reading;

/** A word as the shell would treat it. */
export interface ShellWord {
  /** Its value when it is literal or a pattern, else its text. */
  readonly value: string;
  /** Nothing when the program gets just this value. */
  readonly doubt: Doubt | undefined;
}

/** The doubt about a redirection to a word that is expanded. */
export function targetDoubt(operator: string, target: string): Doubt {
  return { kind: "target", text: `redirects with ${JSON.stringify(`${operator} ${target}`)}, which is expanded` };
}

/** The redirection in one form for both readers; undefined when it opens no file. */
export function redirectionText(operator: string, target: string): string | undefined {
  if (operator.endsWith("&") && /^[12]$/.test(target)) return undefined;
  if (HARMLESS_OPERATORS.has(operator) && target === "/dev/null") return undefined;
  return `${operator} ${target}`;
}

const HARMLESS_OPERATORS: ReadonlySet<string> = new Set([">", ">>", "<", "&>", "&>>"]);
