import { payloadOf } from "./payloads.ts";
import {
  type Doubt,
  isOption,
  MAX_OPTIONS,
  type Reading,
  type ShellReader,
  type SimpleCommand,
} from "./reading.ts";
import { createTreeSitterReader } from "./tree-sitter-reader.ts";
import { createUnbashReader } from "./unbash-reader.ts";

/** The analysis of a command line before it runs. */
export interface ShellAnalysis extends Reading {
  /**
   * Every command that the line may run. A shell runs no other, unless a doubt
   * says otherwise.
   */
  readonly commands: readonly SimpleCommand[];
  /**
   * Why the line asks; empty when both readers see the same commands and
   * nothing else.
   */
  readonly doubts: readonly Doubt[];
}

/**
 * Analyzes a command line. Resolves for every line: what cannot be read is a
 * doubt.
 *
 * So is a line with more than 16,384 UTF-16 code units, which is not read at
 * all, one with more than 64 commands, and one with command lines in command
 * lines more than four levels deep.
 */
export type ShellAnalyzer = (source: string) => Promise<ShellAnalysis>;

/** Two readers of command lines that share no code. */
type Readers = readonly [ShellReader, ShellReader];

/** What the analysis of a line and of those within it has. */
interface Work {
  readonly readers: Readers;
  /** How many lines within the line may still be analyzed. */
  lines: number;
}

/** The maximum length of a command line that is read, in UTF-16 code units. */
const MAX_COMMAND_LENGTH: number = 16 * 1024;
/** The maximum number of commands that a line may have without a doubt. */
const MAX_COMMANDS = 64;
/** The maximum number of command lines within a line that are analyzed. */
const MAX_LINES = 64;
/** The maximum number of commands that are compared with rules. */
const MAX_COMPARED = 512;
/** The maximum length of a line that is wrong or too much, and read twice. */
const MAX_RECOVERED = 2048;
/** The maximum number of substitutions, which may be nested. */
const MAX_SUBSTITUTIONS = 256;
/**
 * The maximum depth of command lines within command lines (`sh -c "sh -c …"`).
 */
const MAX_DEPTH = 4;

/**
 * Control, bidirectional and invisible characters, which can hide from a
 * reviewer what a command does.
 */
const HIDING_CHARACTER = /[^\P{C}\n\t]|[\p{Zl}\p{Zp}]|(?! )\p{Zs}/u;

const UNREAD: Doubt = {
  kind: "syntax",
  text: "cannot be read: a parser failed",
};
const TOO_MUCH: Doubt = {
  kind: "limit",
  text: "has more commands than are analyzed",
};

/**
 * Creates an analyzer of command lines from two readers. Whatever the readers
 * do not both see is a doubt.
 *
 * `load` is called for the first line. Default: a reader on unbash and one on
 * tree-sitter. When loading fails, the line is in doubt, and the next line
 * loads again.
 */
export function createShellAnalyzer(
  load: () => Promise<Readers> = () =>
    Promise.all([createUnbashReader(), createTreeSitterReader()]),
): ShellAnalyzer {
  let loading: Promise<Readers> | undefined;
  return async (source) => {
    const refusal = refuse(source);
    if (refusal) return { commands: [], doubts: [refusal], redirections: [] };
    loading ??= load();
    const readers = await loading.catch(() => undefined);
    if (readers) {
      const analysis = analyze(source, { readers, lines: MAX_LINES }, 0);
      if (analysis.commands.length <= MAX_COMPARED) return analysis;
      return {
        ...analysis,
        commands: analysis.commands.slice(0, MAX_COMPARED),
        doubts: [...analysis.doubts, TOO_MUCH],
      };
    }
    loading = undefined;
    return { commands: [], doubts: [UNREAD], redirections: [] };
  };
}

/** Returns why a line is not read at all. */
function refuse(source: string): Doubt | undefined {
  if (source.length > MAX_COMMAND_LENGTH) {
    const text = `has ${source.length} characters: limit is ${MAX_COMMAND_LENGTH}`;
    return { kind: "limit", text };
  }
  if ((source.match(/\$\[|[$<>]\(/g)?.length ?? 0) > MAX_SUBSTITUTIONS) {
    const text = `has more than ${MAX_SUBSTITUTIONS} substitutions`;
    return { kind: "limit", text };
  }
  const hiding = HIDING_CHARACTER.exec(source)?.[0].codePointAt(0);
  if (hiding === undefined) return undefined;
  return {
    kind: "characters",
    text: `has the character U+${hiding.toString(16).toUpperCase().padStart(4, "0")}`,
  };
}

function analyze(source: string, work: Work, depth: number): ShellAnalysis {
  const one = attempt(work.readers[0], source);
  // Recovering from errors takes tree-sitter the square of the length. The line
  // asks in any case.
  const isLost =
    source.length > MAX_RECOVERED &&
    (one.commands.length > MAX_COMMANDS ||
      one.doubts.some(({ kind }) => kind === "syntax"));
  const other = isLost ? one : attempt(work.readers[1], source);
  const doubts = [...misreadSyntax(source), ...one.doubts, ...other.doubts];
  const isSame =
    sortedText(one.commands.map(({ words }) => words)) ===
      sortedText(other.commands.map(({ words }) => words)) &&
    sortedText(one.redirections) === sortedText(other.redirections);
  if (!isSame) {
    doubts.push({ kind: "disagreement", text: "can be read in two ways" });
  }
  if (Math.max(one.commands.length, other.commands.length) > MAX_COMMANDS) {
    doubts.push(TOO_MUCH);
  }
  if ([...one.commands, ...other.commands].some(hasManyOptions)) {
    doubts.push({
      kind: "limit",
      text: `has more than ${MAX_OPTIONS} options in front of a word`,
    });
  }
  const commands = union(one.commands, other.commands);
  const redirections = union(one.redirections, other.redirections);
  // The commands that these may run besides themselves are added, to any depth
  // up to `MAX_DEPTH`.
  const payloads = commands.flatMap((command) => payloadOf(command) ?? []);
  const hasLines = payloads.some(
    ({ scripts, guesses }) => scripts.length + guesses.length > 0,
  );
  if (depth >= MAX_DEPTH && hasLines) {
    return { commands, doubts: [...doubts, TOO_MUCH], redirections };
  }
  const analyzeSome = (lines: readonly string[]): ShellAnalysis[] =>
    lines.flatMap((line) => {
      if (work.lines-- > 0) return analyze(line, work, depth + 1);
      return [];
    });
  const scripts = analyzeSome(payloads.flatMap((payload) => payload.scripts));
  const guesses = analyzeSome(payloads.flatMap((payload) => payload.guesses));
  if (work.lines < 0) doubts.push(TOO_MUCH);
  return {
    commands: union(
      commands,
      payloads.flatMap((payload) => payload.commands),
      [...scripts, ...guesses].flatMap((line) => line.commands),
    ),
    doubts: [
      ...doubts,
      ...payloads.map(({ doubt }) => doubt),
      ...scripts.flatMap((line) => line.doubts),
    ],
    redirections: union(
      redirections,
      scripts.flatMap((line) => line.redirections),
    ),
  };
}

/**
 * Returns doubts about syntax that both readers are known to misread.
 *
 * The text itself is searched, quoted or not, because no reading can be trusted
 * to say whether such syntax counts.
 */
function misreadSyntax(source: string): Doubt[] {
  const doubts: Doubt[] = [];
  if (source.includes("\\\n")) {
    doubts.push({ kind: "continuation", text: "joins lines with a backslash" });
  }
  if (DESCRIPTOR_VARIABLE.test(source)) {
    doubts.push({
      kind: "assignment",
      text: "sets a variable to a descriptor",
    });
  }
  if (DEFAULT_VALUE.test(source)) {
    doubts.push({ kind: "assignment", text: "sets a variable" });
  }
  if (source.includes("@P}")) {
    doubts.push({ kind: "dynamic", text: "expands a value once more" });
  }
  if (EVALUATION.test(source) && QUOTED_SUBSTITUTION.test(source)) {
    doubts.push({ kind: "dynamic", text: "may run a substitution in quotes" });
  }
  return doubts;
}

function hasManyOptions({ words }: SimpleCommand): boolean {
  const ahead = words.slice(0, MAX_OPTIONS + 2);
  const isOver = (word: string, at: number): boolean =>
    at > 0 && !isOption(word) && !isOption(ahead[at - 1]);
  return ahead.length > MAX_OPTIONS + 1 && !ahead.some(isOver);
}

function attempt(reader: ShellReader, source: string): Reading {
  try {
    return reader(source);
  } catch {
    return { commands: [], doubts: [UNREAD], redirections: [] };
  }
}

/**
 * Where bash evaluates arithmetic or an index. There quotes do not quote, and
 * values are evaluated again.
 */
const EVALUATION = /\(\(|\[|\b(let|declare|typeset|local)\b|\s-v\b/;
/** A substitution behind a quote, or escaped. */
const QUOTED_SUBSTITUTION = /'[^']*(\$[({]|`)|\\[$`]/;
/**
 * `{name}` or `{name[index]}` in front of a redirection: bash opens a new
 * descriptor and assigns its number to the variable.
 */
const DESCRIPTOR_VARIABLE =
  /(^|[\s;&|()<>`])\{[A-Za-z_]\w*(\[[^\]]*\])?\}[<>&]/;

/** `${name:=value}` sets a variable that has no value. */
const DEFAULT_VALUE = /\$\{!?\w+(\[[^\]]*\])?:?=/;

function union<T>(...lists: readonly (readonly T[])[]): T[] {
  const byText = new Map(
    lists.flat().map((value) => [JSON.stringify(value), value]),
  );
  return [...byText.values()];
}

function sortedText(values: readonly unknown[]): string {
  return values
    .map((value) => JSON.stringify(value))
    .sort()
    .join("\n");
}
