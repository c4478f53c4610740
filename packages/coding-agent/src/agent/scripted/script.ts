import type { JsonObject } from "@bufbuild/protobuf";
import { isObject, parseJsonOrUndefined } from "@devtool/internal/json";
import type { ModelToolCall } from "../model.ts";

/**
 * One instruction of a script. `docs/models.md` has the syntax and the meaning
 * of each.
 */
export type Instruction =
  | { readonly case: "say"; readonly count: number; readonly bytes: number }
  | { readonly case: "text"; readonly text: string }
  | { readonly case: "repeat"; readonly count: number; readonly text: string }
  | { readonly case: "think"; readonly count: number }
  | { readonly case: "cite"; readonly uri: string }
  | { readonly case: "wait"; readonly ms: number }
  | { readonly case: "finish"; readonly reason: string }
  /**
   * Fails the first `times` attempts with an HTTP status instead of a stream.
   */
  | {
      readonly case: "fail";
      readonly code: number;
      readonly times: number;
      readonly retryAfterMs?: number;
    }
  /** Breaks the stream of the first `times` attempts. */
  | { readonly case: "break"; readonly how: Break; readonly times: number }
  | { readonly case: "duplicate" }
  | { readonly case: "drip"; readonly ms: number }
  | { readonly case: "call"; readonly calls: readonly ModelToolCall[] }
  | { readonly case: "next" };

/** The ways in which a script can break a stream. */
export type Break =
  | "hang"
  | "cut"
  | "reset"
  | "malformed"
  | "badutf8"
  | "empty";

/**
 * Parses a prompt as a script: the turns of the model, each a list of
 * instructions. Returns undefined for prose, that is, when the first line is
 * not an instruction. Ignores later lines that are not instructions.
 *
 * Calls on consecutive lines belong to one turn. Instructions after them belong
 * to the next turn, which begins when the calls have ended, except for those
 * that say how the turn with the calls ends.
 */
export function parseScript(
  prompt: string,
): readonly (readonly Instruction[])[] | undefined {
  const lines = prompt.trim().split("\n").map(parseInstruction);
  if (lines[0] === undefined) return undefined;
  const turns: Instruction[][] = [[]];
  for (const instruction of lines) {
    const turn = turns.at(-1);
    if (!instruction || !turn) continue;
    const hasCalls = turn.some(({ case: kind }) => kind === "call");
    const isEnding =
      instruction.case === "finish" ||
      instruction.case === "duplicate" ||
      (instruction.case === "break" && instruction.how !== "empty");
    if (instruction.case === "next") {
      turns.push([]);
    } else if (hasCalls && instruction.case !== "call" && !isEnding) {
      turns.push([instruction]);
    } else {
      turn.push(instruction);
    }
  }
  return turns.filter((turn) => turn.length > 0);
}

/** Parses one line. Returns undefined when it is not an instruction. */
export function parseInstruction(line: string): Instruction | undefined {
  const [, verb = "", rest = ""] =
    /^\s*(\w+)(?:\s+(.*?))?\s*$/s.exec(line) ?? [];
  return INSTRUCTIONS.get(verb.toLowerCase())?.(rest);
}

/**
 * Returns the text of one piece that `say` sends: `index` counts from 1,
 * `bytes` is the minimum length.
 */
export function sayPiece(index: number, bytes: number): string {
  return `chunk ${index} `.padEnd(bytes, "abcdefghij ");
}

/**
 * Parses the rest of a line after its first word. Returns undefined if it is
 * not an instruction.
 */
type InstructionParser = (rest: string) => Instruction | undefined;

/** The parsers of instructions by their first word. */
const INSTRUCTIONS: ReadonlyMap<string, InstructionParser> = new Map(
  Object.entries<InstructionParser>({
    say: (rest) => {
      const match = /^(\d+)(?:\s+(\d+))?$/.exec(rest);
      return match
        ? { case: "say", count: Number(match[1]), bytes: Number(match[2] ?? 0) }
        : undefined;
    },
    text: (rest) => ({ case: "text", text: unescapeText(rest) }),
    repeat: (rest) => {
      const [, count, text] = /^(\d+)\s+(.+)$/s.exec(rest) ?? [];
      return text === undefined
        ? undefined
        : { case: "repeat", count: Number(count), text: unescapeText(text) };
    },
    think: (rest) =>
      /^\d*$/.test(rest)
        ? { case: "think", count: Number(rest || 1) }
        : undefined,
    cite: (rest) => (rest === "" ? undefined : { case: "cite", uri: rest }),
    wait: (rest) =>
      /^\d+$/.test(rest) ? { case: "wait", ms: Number(rest) } : undefined,
    finish: (rest) =>
      /^\w+$/.test(rest)
        ? { case: "finish", reason: rest.toUpperCase() }
        : undefined,
    fail: (rest) => {
      const match =
        /^(\d{3})(?:\s+(\d+))?(?:\s+after\s+(\d+(?:\.\d+)?))?$/.exec(rest);
      if (!match) return undefined;
      const [, code, times = Number.POSITIVE_INFINITY, seconds] = match;
      const instruction = {
        case: "fail",
        code: Number(code),
        times: Number(times),
      } as const;
      return seconds === undefined
        ? instruction
        : { ...instruction, retryAfterMs: Number(seconds) * 1000 };
    },
    hang: (rest) => parseBreak("hang", rest),
    cut: (rest) => parseBreak("cut", rest),
    reset: (rest) => parseBreak("reset", rest),
    malformed: (rest) => parseBreak("malformed", rest),
    badutf8: (rest) => parseBreak("badutf8", rest),
    empty: (rest) => parseBreak("empty", rest),
    duplicate: (rest) => (rest === "" ? { case: "duplicate" } : undefined),
    drip: (rest) =>
      /^\d+$/.test(rest) ? { case: "drip", ms: Number(rest) } : undefined,
    next: (rest) => (rest === "" ? { case: "next" } : undefined),
    run: (rest) =>
      rest === ""
        ? undefined
        : callInstruction("run_shell_command", { command: rest }),
    read: (rest) => {
      const [, path, count = "1"] = /^(\S+)(?:\s+x(\d+))?$/.exec(rest) ?? [];
      return path === undefined
        ? undefined
        : callInstruction("read_file", { file_path: path }, Number(count));
    },
    write: (rest) => {
      const [, path, text] = /^(\S+)(?:\s+(.+))?$/s.exec(rest) ?? [];
      if (path === undefined) return undefined;
      return callInstruction("write_file", {
        file_path: path,
        content: unescapeText(text ?? "hello\\n"),
      });
    },
    edit: (rest) => {
      const [, path, from, to] =
        /^(\S+)\s+(.+?)\s*=>\s*(.*)$/s.exec(rest) ?? [];
      if (path === undefined || from === undefined || to === undefined) {
        return undefined;
      }
      const args = {
        file_path: path,
        old_string: unescapeText(from),
        new_string: unescapeText(to),
      };
      return callInstruction("replace", args);
    },
    hugeargs: (rest) => {
      if (!/^\d{1,8}$/.test(rest)) return undefined;
      return callInstruction("write_file", {
        file_path: "huge.txt",
        content: "x".repeat(Number(rest)),
      });
    },
    call: (rest) => {
      const [, name, json = "{}"] = /^(\S+)(?:\s+(\{.*\}))?$/s.exec(rest) ?? [];
      const args = parseJsonOrUndefined(json);
      return name === undefined || !isObject(args)
        ? undefined
        : callInstruction(name, args);
    },
  }),
);

/** Creates an instruction that makes the same call one or more times. */
function callInstruction(
  name: string,
  args: JsonObject,
  count = 1,
): Instruction {
  return {
    case: "call",
    calls: Array.from({ length: count }, () => ({ name, args })),
  };
}

function parseBreak(how: Break, rest: string): Instruction | undefined {
  if (!/^\d*$/.test(rest)) return undefined;
  return {
    case: "break",
    how,
    times: rest === "" ? Number.POSITIVE_INFINITY : Number(rest),
  };
}

/** Replaces `\\n` and `\\t` by a line break and a tab. */
function unescapeText(text: string): string {
  return text.replaceAll("\\n", "\n").replaceAll("\\t", "\t");
}
