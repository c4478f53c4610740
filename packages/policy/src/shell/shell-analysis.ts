import { payloadOf } from "./payloads.ts";
import type { Doubt, Reading, ShellReader, SimpleCommand } from "./reading.ts";
import { createTreeSitterReader } from "./tree-sitter-reader.ts";
import { createUnbashReader } from "./unbash-reader.ts";

/** What is known of a command line before it runs. */
export interface ShellAnalysis extends Reading {
  /** Every command that it may run: a shell runs no other one, unless a doubt says that this is not known. */
  readonly commands: readonly SimpleCommand[];
  /** Why it must be asked about; empty when both readers see the same commands and nothing else. */
  readonly doubts: readonly Doubt[];
}

/** Analyses command lines. Never throws for what the line holds. */
export type ShellAnalyzer = (source: string) => Promise<ShellAnalysis>;

/** A command line longer than this is not looked at: it asks. */
export const MAX_COMMAND_LENGTH: number = 16 * 1024;
/** A command line with more commands than this asks. */
export const MAX_COMMANDS: number = 64;
const MAX_DEPTH = 4;

/** Anything that a command line does not need and a person may not see: S12's cousin for the eye. */
const STRANGE = /[^\P{C}\n\t]|[\p{Zl}\p{Zp}]|(?! )\p{Zs}/u;

/**
 * Makes an analyzer of two readers that share no code, which are loaded when the first command is looked at. What they
 * do not both see is a doubt.
 */
export function createShellAnalyzer(
  load: () => Promise<readonly [ShellReader, ShellReader]> = () =>
    Promise.all([createUnbashReader(), createTreeSitterReader()]),
): ShellAnalyzer {
  let loaded: Promise<readonly [ShellReader, ShellReader]> | undefined;
  return async (source) => {
    const refused = refuse(source);
    if (refused) return { commands: [], doubts: [refused], redirections: [] };
    loaded ??= load();
    const readers = await loaded.catch(() => undefined);
    if (!readers) loaded = undefined;
    return readers ? analyze(source, readers, 0) : { commands: [], doubts: [UNREAD], redirections: [] };
  };
}

const UNREAD: Doubt = { kind: "syntax", text: "cannot be read: the readers of commands do not load" };

function refuse(source: string): Doubt | undefined {
  if (source.length > MAX_COMMAND_LENGTH)
    return {
      kind: "limit",
      text: `has ${source.length} characters: more than ${MAX_COMMAND_LENGTH} are not looked at`,
    };
  const strange = STRANGE.exec(source)?.[0].codePointAt(0);
  if (strange === undefined) return undefined;
  return { kind: "characters", text: `has the character U+${strange.toString(16).toUpperCase().padStart(4, "0")}` };
}

function analyze(source: string, readers: readonly [ShellReader, ShellReader], depth: number): ShellAnalysis {
  const [one, other] = readers.map((reader) => attempt(reader, source));
  if (!one || !other) return { commands: [], doubts: [UNREAD], redirections: [] };
  const read = {
    commands: union(one.commands, other.commands),
    doubts: [...misread(source), ...one.doubts, ...other.doubts, ...disagreement(one, other), ...excess(one, other)],
    redirections: union(one.redirections, other.redirections),
  };
  return withPayloads(read, readers, depth);
}

/**
 * What both readers are known to take for something else than bash does. It is looked for in the text itself, quoted
 * or not: no reading of ours may decide whether these count.
 */
function misread(source: string): Doubt[] {
  return [
    ...(source.includes("\\\n") ? [{ kind: "continuation", text: "joins lines with a backslash" } as const] : []),
    ...(DESCRIPTOR_VARIABLE.test(source)
      ? [{ kind: "assignment", text: "sets a variable to a descriptor" } as const]
      : []),
    ...(EVALUATION.test(source) && QUOTED_SUBSTITUTION.test(source)
      ? [{ kind: "dynamic", text: "may run a substitution that stands in quotes" } as const]
      : []),
  ];
}

/** Where bash evaluates arithmetic or an index: quotes quote nothing there, and values are evaluated again. */
const EVALUATION = /\(\(|\[|\b(let|declare|typeset|local)\b|\s-v\b/;

/** A substitution behind a quote, or escaped. */
const QUOTED_SUBSTITUTION = /'[^']*(\$[({]|`)|\\[$`]/;

/** `{name}` or `{name[index]}` in front of a redirection: bash opens a new descriptor and puts its number there. */
const DESCRIPTOR_VARIABLE = /(^|[\s;&|()<>`])\{[A-Za-z_]\w*(\[[^\]]*\])?\}[<>&]/;

function attempt(reader: ShellReader, source: string): Reading {
  try {
    return reader(source);
  } catch {
    return { commands: [], doubts: [UNREAD], redirections: [] };
  }
}

function disagreement(one: Reading, other: Reading): Doubt[] {
  const isSame =
    sorted(one.commands).join("\n") === sorted(other.commands).join("\n") &&
    sorted(one.redirections).join("\n") === sorted(other.redirections).join("\n");
  return isSame ? [] : [{ kind: "disagreement", text: "can be read in two ways" }];
}

function excess(...readings: readonly Reading[]): Doubt[] {
  return readings.some(({ commands }) => commands.length > MAX_COMMANDS) ? [TOO_MUCH] : [];
}

const TOO_MUCH: Doubt = { kind: "limit", text: "runs more than is looked at" };

function withPayloads(read: ShellAnalysis, readers: readonly [ShellReader, ShellReader], depth: number): ShellAnalysis {
  const payloads = read.commands.flatMap((command) => payloadOf(command) ?? []);
  const scripts = payloads.flatMap((payload) => payload.scripts);
  const guesses = payloads.flatMap((payload) => payload.guesses);
  if (depth >= MAX_DEPTH && scripts.length + guesses.length > 0) return { ...read, doubts: [...read.doubts, TOO_MUCH] };
  const inner = scripts.map((script) => analyze(script, readers, depth + 1));
  const guessed = guesses.map((script) => analyze(script, readers, depth + 1));
  return {
    commands: union(
      read.commands,
      payloads.flatMap(({ commands }) => commands),
      [...inner, ...guessed].flatMap(({ commands }) => commands),
    ),
    doubts: [...read.doubts, ...payloads.map(({ doubt }) => doubt), ...inner.flatMap(({ doubts }) => doubts)],
    redirections: union(
      read.redirections,
      inner.flatMap(({ redirections }) => redirections),
    ),
  };
}

function sorted(values: readonly unknown[]): string[] {
  return values.map((value) => JSON.stringify(value)).sort();
}

function union<T>(...lists: readonly (readonly T[])[]): T[] {
  const byText = new Map(lists.flat().map((value) => [JSON.stringify(value), value]));
  return [...byText.values()];
}
