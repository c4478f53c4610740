/** What a program may be given to run without a question. What is not named here asks. */
export interface ArgumentGrammar {
  /** Flags of one letter that take no value, as one text: `alR`. */
  readonly letters?: string;
  /** Flags of one letter that take a value, in the same word or the next. */
  readonly valueLetters?: string;
  /** Long flags that take no value, or an optional one after `=`, with their dashes. */
  readonly flags?: readonly string[];
  /** Long flags that take a value, after `=` or in the next word. */
  readonly valueFlags?: readonly string[];
  /** The maximum number of words that are not flags. Default: any number. */
  readonly maxOperands?: number;
  /** What each operand must look like. Default: anything that is not a flag. */
  readonly operand?: RegExp;
  /** Whether `-5` stands for a number. */
  readonly numeric?: "allowed";
}

/**
 * Returns whether arguments are among those that a grammar allows. Whatever a program might take for a flag must be
 * spelled out in the grammar: no abbreviation, no unknown letter of a group, no value that starts with a dash.
 */
export function allowsArguments(grammar: ArgumentGrammar, args: readonly string[]): boolean {
  let operands = 0;
  for (let at = 0; at < args.length; at++) {
    const word = args[at] ?? "";
    if (word === "--") return allowsOperands(grammar, args.slice(at + 1), operands);
    if (!isFlag(word)) {
      if (!allowsOperands(grammar, [word], operands++)) return false;
      continue;
    }
    const form = flagForm(grammar, word);
    if (form === "unknown") return false;
    if (form === "value follows" && !isValue(args[++at])) return false;
  }
  return true;
}

function isValue(word: string | undefined): boolean {
  return word !== undefined && !isFlag(word);
}

function isFlag(word: string): boolean {
  return word.startsWith("-") && word !== "-";
}

/** After `--` a dash would be a file's name, but not every program stops at `--`. */
function allowsOperands(grammar: ArgumentGrammar, words: readonly string[], before: number): boolean {
  const { maxOperands = Number.POSITIVE_INFINITY, operand } = grammar;
  return before + words.length <= maxOperands && words.every((word) => !isFlag(word) && (operand?.test(word) ?? true));
}

function flagForm(grammar: ArgumentGrammar, word: string): "complete" | "value follows" | "unknown" {
  if (grammar.numeric && /^-\d+$/.test(word)) return "complete";
  if (grammar.flags?.includes(word)) return "complete";
  if (grammar.valueFlags?.includes(word)) return "value follows";
  if (word.startsWith("--")) return longForm(grammar, word);
  return letterForm(grammar, word);
}

function longForm({ flags, valueFlags }: ArgumentGrammar, word: string): "complete" | "unknown" {
  const name = word.slice(0, word.indexOf("="));
  return word.includes("=") && (flags?.includes(name) || valueFlags?.includes(name)) ? "complete" : "unknown";
}

function letterForm({ letters = "", valueLetters = "" }: ArgumentGrammar, word: string): ReturnType<typeof flagForm> {
  for (let at = 1; at < word.length; at++) {
    const letter = word[at] ?? "";
    if (valueLetters.includes(letter)) return at + 1 < word.length ? "complete" : "value follows";
    if (!letters.includes(letter)) return "unknown";
  }
  return "complete";
}
