/**
 * The arguments with which a program may run without a question.
 *
 * An argument that the grammar does not name is not allowed.
 */
export interface ArgumentGrammar {
  /**
   * Flags of one letter that take no value, as one string: `alR`. Default:
   * none.
   */
  readonly letters?: string;
  /**
   * Flags of one letter that take a value, in the same word or the next one.
   * Default: none.
   */
  readonly valueLetters?: string;
  /**
   * Long flags, with their dashes, that take no value or an optional one after
   * `=`. Default: none.
   */
  readonly flags?: readonly string[];
  /**
   * Long flags, with their dashes, that take a value after `=` or in the next
   * word. Default: none.
   */
  readonly valueFlags?: readonly string[];
  /** The maximum number of words that are not flags. Default: any number. */
  readonly maxOperands?: number;
  /** The pattern that every operand must match. Default: any operand. */
  readonly operand?: RegExp;
  /** Set when a number may be given as `-5`. */
  readonly numeric?: "allowed";
}

/**
 * Returns whether a grammar allows all of the arguments.
 *
 * Whatever a program might take for a flag must be spelled out in the grammar:
 * no abbreviation, no unknown letter in a group, and no value that starts with
 * a dash is allowed.
 */
export function allowsArguments(
  grammar: ArgumentGrammar,
  args: readonly string[],
): boolean {
  let operands = 0;
  for (let at = 0; at < args.length; at++) {
    const word = args[at] ?? "";
    if (word === "--") {
      return allowsOperands(grammar, args.slice(at + 1), operands);
    }
    if (!isFlag(word)) {
      if (!allowsOperands(grammar, [word], operands++)) return false;
      continue;
    }
    const form = readFlag(grammar, word);
    if (form === "unknown") return false;
    if (form === "complete") continue;
    const value = args[++at];
    if (value === undefined || isFlag(value)) return false;
  }
  return true;
}

function isFlag(word: string): boolean {
  return word.startsWith("-") && word !== "-";
}

/**
 * Returns whether more operands are allowed after `before` others. None may
 * start with a dash: not every program stops at `--`.
 */
function allowsOperands(
  grammar: ArgumentGrammar,
  words: readonly string[],
  before: number,
): boolean {
  const { maxOperands = Number.POSITIVE_INFINITY, operand } = grammar;
  return (
    before + words.length <= maxOperands &&
    words.every((word) => !isFlag(word) && (operand?.test(word) ?? true))
  );
}

/**
 * Whether a word is an allowed flag, and whether its value is the next word.
 */
type FlagForm = "complete" | "value follows" | "unknown";

function readFlag(grammar: ArgumentGrammar, word: string): FlagForm {
  const {
    letters = "",
    valueLetters = "",
    flags = [],
    valueFlags = [],
    numeric,
  } = grammar;
  if (numeric && /^-\d+$/.test(word)) return "complete";
  if (flags.includes(word)) return "complete";
  if (valueFlags.includes(word)) return "value follows";
  if (word.startsWith("--")) {
    const equals = word.indexOf("=");
    const name = word.slice(0, equals);
    return equals >= 0 && (flags.includes(name) || valueFlags.includes(name))
      ? "complete"
      : "unknown";
  }
  for (let at = 1; at < word.length; at++) {
    const letter = word[at] ?? "";
    if (valueLetters.includes(letter)) {
      return at + 1 < word.length ? "complete" : "value follows";
    }
    if (!letters.includes(letter)) return "unknown";
  }
  return "complete";
}
