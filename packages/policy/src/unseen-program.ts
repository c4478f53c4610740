import picomatch from "picomatch";
import type { CompiledRule } from "./compiled-rule.ts";
import { bareSpellings, commandText } from "./policy-subject.ts";
import { readsCode } from "./shell/interpreters.ts";
import type { SimpleCommand } from "./shell/reading.ts";
import { wordUse } from "./shell/word-use.ts";

/** A shell expands such a word, unless it is quoted. */
const EXPANDED = /[$`*?[{]|[<>]\(/;
/** A shell expands such a word to anything, not only to names of files. */
const EXPANDED_TO_ANYTHING = /[$`{]|[<>]\(/;
/** The words of a `command_prefix`. */
const PREFIX_WORD = /(?:[^\s']|'[^']*')+/g;
/** The first word of a `command_regex`, where it is literal. */
const LITERAL_START = /^[\w@%=:,/~-]+(?= |$)/;
/** The characters between the names in a word. */
const BETWEEN_NAMES = /[^\w.+/@~*?[\]$-]+/;
/** A set of more characters than it has: `[!a]`, `[[:alpha:]]`, `[x[=m=]]`. */
const BRACKETS =
  /\[(?:[!^]|(?=[^\s[\]]*\[[:.=]))(?:\[([:.=])[^\s[\]]+\1\]|[^\s[\]])*\]/g;
/** Alternatives in braces that have none within. */
const BRACES = /\{[^{}\s]*(?:,|\.\.)[^{}\s]*\}/;
/** Stands for the names in a word that may become anything, but no program. */
const ANYTHING = "\0";
/**
 * The maximum number of names in a command that are each compared with
 * patterns. A command with more asks.
 */
const MAX_NAMES = 64;
const PATTERN = /[*?[]/;
/** The maximum number of patterns in words that are compared with names. */
const MAX_PATTERNS = 256;
/** The maximum length of a pattern that is compared with a name. */
const MAX_PATTERN = 256;

/** The start of the commands that a rule names. */
interface Restricted {
  /** Empty when any program may be meant. */
  readonly words: readonly string[];
  /** The pattern that decides about the words behind; undefined for a prefix. */
  readonly pattern: CompiledRule["command"];
}

/** The line of a command. */
interface LineFacts {
  /**
   * Whether the line has words that are expanded: elsewhere all characters are
   * literal.
   */
  readonly expands: "some" | "none";
  /** The names of the files that words of the command lead to by links. */
  readonly linked: readonly string[];
  /** The names of the programs of the line. */
  readonly called: readonly string[];
}

/**
 * Returns why a command may run another one that rules ask about or deny,
 * although no reader saw that one; undefined when it cannot.
 *
 * `rules` are the rules about commands that ask or deny.
 */
export function findUnseenProgram(
  command: SimpleCommand,
  rules: readonly CompiledRule[],
  { expands, linked, called }: LineFacts,
): string | undefined {
  if (rules.length === 0) return undefined;
  const restricted = rules.flatMap(restrictedStarts);
  const isExpanded = (word: string): boolean =>
    expands === "some" && EXPANDED.test(word);
  const becomes = restricted.some((start) =>
    bareSpellings(command.words).some((words) =>
      mayBecome(words, start, isExpanded),
    ),
  );
  if (becomes) return "has words that are expanded";
  const [program = "", ...args] = command.words;
  const quoted = JSON.stringify(program);
  const use = wordUse(command, isExpanded);
  if (use === "data") return undefined;
  const isFed = args.some((word) => /[|<]/.test(word));
  if (use === "code" || (isFed && linked.some(readsCode))) {
    return `gives ${quoted} code to run`;
  }
  const isFixed = (word: string): boolean =>
    use === "any" || !isExpanded(word) || !EXPANDED_TO_ANYTHING.test(word);
  const open = args.find((word) => !isFixed(word));
  if (
    open !== undefined &&
    args.some((word) => called.includes(baseOf(word)))
  ) {
    return `gives ${quoted} ${JSON.stringify(open)}, which is expanded, and runs what it makes`;
  }
  const written = args.flatMap((word) =>
    isFixed(word) ? namesIn(word) : [ANYTHING, ...writtenNamesIn(word)],
  );
  const names = [...written, ...linked];
  const patterns = names.filter((name) => PATTERN.test(name));
  if (use === "any" && patterns.length > MAX_PATTERNS) {
    return `has more than ${MAX_PATTERNS} patterns in the words of ${quoted}`;
  }
  const named = findNamed(
    use === "any" ? namesIn(program) : [],
    names,
    restricted,
  );
  if (named !== undefined) {
    return `names ${JSON.stringify(named)} in the words of ${quoted}`;
  }
  const free = args.find(
    (word) => use === "any" && isExpanded(word) && isFree(word, restricted),
  );
  return free === undefined
    ? undefined
    : `gives ${quoted} ${JSON.stringify(free)}, which is expanded`;
}

function restrictedStarts({ rule, command }: CompiledRule): Restricted[] {
  if (rule.commandPrefix.length > 0) {
    return rule.commandPrefix.map((prefix) => ({
      words: [...prefix.matchAll(PREFIX_WORD)].map(([word]) =>
        word.replaceAll("'", ""),
      ),
      pattern: undefined,
    }));
  }
  const [program] = LITERAL_START.exec(rule.commandRegex) ?? [];
  return [{ words: program === undefined ? [] : [program], pattern: command }];
}

/** Whether a command may be a restricted one once its words are expanded. */
function mayBecome(
  command: readonly string[],
  { words, pattern }: Restricted,
  isExpanded: (word: string) => boolean,
): boolean {
  const at = words.findIndex((wanted, index) => command[index] !== wanted);
  if (at < 0) return pattern !== undefined && command.some(isExpanded);
  const word = command[at];
  if (word === undefined || !isExpanded(word)) return false;
  return EXPANDED_TO_ANYTHING.test(word) || matchesName(word, words[at] ?? "");
}

/**
 * Whether an expanded word can become a flag or the name of a restricted
 * program.
 */
function isFree(word: string, restricted: readonly Restricted[]): boolean {
  if (EXPANDED_TO_ANYTHING.test(word) || /^['"]?[*?[-]/.test(word)) return true;
  return restricted.some(({ words: [name = ""] }) =>
    isNameOf(baseOf(word), name),
  );
}

/**
 * Returns which restricted command is named: its program and, somewhere behind,
 * its further words other than flags.
 *
 * `program` are the names in the program that is called, which may be the
 * restricted one.
 */
function findNamed(
  program: readonly string[],
  args: readonly string[],
  restricted: readonly Restricted[],
): string | undefined {
  for (const { words } of restricted) {
    const [name, ...others] = words.filter((word) => !word.startsWith("-"));
    if (name === undefined) continue;
    const isCalled = program.some((word) => isNameOf(word, name));
    const at = args.findIndex(
      (word) => word !== ANYTHING && isNameOf(word, name),
    );
    const behind = isCalled && others.length > 0 ? args : args.slice(at + 1);
    if ((isCalled && others.length > 0) || at >= 0) {
      if (followEachOther(others, behind)) return words.join(" ");
    }
  }
  const patterns = restricted.flatMap(({ pattern }) => pattern ?? []);
  if (patterns.length === 0) return undefined;
  if (args.length > MAX_NAMES) return args[MAX_NAMES];
  const isAnyProgram = restricted.some(({ words }) => words.length === 0);
  return (
    args.find((word) => isAnyProgram && /[$*?[]/.test(word)) ??
    args
      .flatMap((_word, at) => {
        const words = args.slice(at);
        return [words, [...program, ...words]].map(commandText);
      })
      .find((text) => patterns.some((one) => one.occursIn(text) !== false))
  );
}

/** Whether words are among names in this order, with others between them. */
function followEachOther(
  words: readonly string[],
  names: readonly string[],
): boolean {
  let at = 0;
  return words.every((word) => {
    const found = names.findIndex(
      (name, index) => index >= at && isNameOf(name, word),
    );
    at = found + 1;
    return found >= 0;
  });
}

/**
 * Whether a name in a word can be that of a program: by itself, at the end of a
 * path, as a pattern, or when a shell expands it.
 */
function isNameOf(name: string, program: string): boolean {
  const base = baseOf(name);
  if ([ANYTHING, program].includes(name) || base === baseOf(program)) {
    return true;
  }
  const [literal = base] = /^[^$]*(?=\$)/.exec(base) ?? [];
  return literal === base
    ? PATTERN.test(base) && matchesName(base, program)
    : program.startsWith(literal);
}

function matchesName(pattern: string, name: string): boolean {
  // No name is as long, and reading a pattern takes the square of its length.
  if (pattern.length > MAX_PATTERN) return true;
  const [start = ""] = /^\w*/.exec(pattern) ?? [];
  if (!name.startsWith(start)) return false;
  const text = pattern.replaceAll(/['"\\]/g, "").replaceAll(BRACKETS, "?");
  return picomatch.isMatch(name, text, { posix: true });
}

function baseOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

/**
 * Returns the names in a word as a shell would see them, without quotes. A flag
 * is not one, but its value is: `--exec=rm`, `-crm`. Where another shell expands
 * the word, what it may become is a pattern: `r?` for `r[!a]`, `pu*` for
 * `pu{sh,ll}`.
 */
function namesIn(word: string): string[] {
  const text = word
    .replaceAll(/['"\\]/g, "")
    .replaceAll("`", "$ ")
    .replaceAll(BRACKETS, "?");
  const patterns = split(replaceBraces(text)).filter((name) => name !== "*");
  return BRACES.test(text) ? [...split(text), ...patterns] : split(text);
}

/** Returns the names in an expanded word that are at the end of a path. */
function writtenNamesIn(word: string): string[] {
  return namesIn(word).filter((name) => !/[$*]/.test(baseOf(name)));
}

function split(text: string): string[] {
  return text
    .split(BETWEEN_NAMES)
    .flatMap((name) => [
      name.replace(/^--.*|^-.|\/+$/g, ""),
      ...valuesInFlags(name),
    ])
    .filter((name) => name !== "");
}

/** What may be the value of the last of several flags: `zap` in `-cIzap`. */
function valuesInFlags(word: string): string[] {
  const [, flags = ""] = /^-([a-z]\w[\w.+/@~$*?-]{0,30})$/i.exec(word) ?? [];
  return Array.from(flags, (_flag, at) => flags.slice(at)).slice(2);
}

function replaceBraces(text: string): string {
  const replaced = text.replaceAll(new RegExp(BRACES, "g"), "*");
  return replaced === text ? text : replaceBraces(replaced);
}
