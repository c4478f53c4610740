import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { ModelToolCall } from "../model.ts";

/** One thing that a script makes the model do. */
export type Step =
  | { readonly case: "say"; readonly count: number; readonly bytes: number }
  | { readonly case: "text"; readonly text: string }
  | { readonly case: "think"; readonly count: number }
  | { readonly case: "wait"; readonly ms: number }
  | { readonly case: "fail"; readonly code: number }
  | { readonly case: "call"; readonly calls: readonly ModelToolCall[] }
  | { readonly case: "next" };

/**
 * Reads a prompt as a script: the turns of the model, each a list of steps. Undefined when its first line is no step:
 * then it is prose. Lines further down that are no step are left out.
 *
 * Calls on neighbouring lines belong to one turn; what follows them is said in the next, when their results are there.
 */
export function parseScript(prompt: string): readonly (readonly Step[])[] | undefined {
  const lines = prompt.trim().split("\n").map(parseStep);
  if (lines[0] === undefined) return undefined;
  const turns: Step[][] = [[]];
  for (const step of lines) {
    const turn = turns.at(-1);
    if (!step || !turn) continue;
    const called = turn.at(-1)?.case === "call";
    if (step.case === "next") turns.push([]);
    else if (called && step.case !== "call") turns.push([step]);
    else turn.push(step);
  }
  return turns.filter((turn) => turn.length > 0);
}

/** Reads one line; undefined when it is no step. */
export function parseStep(line: string): Step | undefined {
  const [, verb = "", rest = ""] = /^\s*(\w+)(?:\s+(.*?))?\s*$/s.exec(line) ?? [];
  return STEPS.get(verb.toLowerCase())?.(rest);
}

const STEPS: ReadonlyMap<string, (rest: string) => Step | undefined> = new Map([
  ["say", parseSay],
  ["text", (rest) => ({ case: "text", text: unescapeText(rest) })],
  ["think", (rest) => (/^\d*$/.test(rest) ? { case: "think", count: Number(rest || 1) } : undefined)],
  ["wait", (rest) => (/^\d+$/.test(rest) ? { case: "wait", ms: Number(rest) } : undefined)],
  ["fail", (rest) => (/^\d{3}$/.test(rest) ? { case: "fail", code: Number(rest) } : undefined)],
  ["next", (rest) => (rest === "" ? { case: "next" } : undefined)],
  ["run", (rest) => (rest === "" ? undefined : calls({ name: "run_shell_command", args: { command: rest } }))],
  ["read", parseRead],
  ["write", parseWrite],
  ["edit", parseEdit],
  ["call", parseCall],
]);

function calls(call: ModelToolCall, count = 1): Step {
  return { case: "call", calls: Array.from({ length: count }, () => call) };
}

function parseSay(rest: string): Step | undefined {
  const match = /^(\d+)(?:\s+(\d+))?$/.exec(rest);
  return match ? { case: "say", count: Number(match[1]), bytes: Number(match[2] ?? 0) } : undefined;
}

function parseRead(rest: string): Step | undefined {
  const [, path, count = "1"] = /^(\S+)(?:\s+x(\d+))?$/.exec(rest) ?? [];
  return path === undefined ? undefined : calls({ name: "read_file", args: { file_path: path } }, Number(count));
}

function parseWrite(rest: string): Step | undefined {
  const [, path, text] = /^(\S+)(?:\s+(.+))?$/s.exec(rest) ?? [];
  if (path === undefined) return undefined;
  return calls({ name: "write_file", args: { file_path: path, content: unescapeText(text ?? "hello\\n") } });
}

function parseEdit(rest: string): Step | undefined {
  const [, path, from, to] = /^(\S+)\s+(.+?)\s*=>\s*(.*)$/s.exec(rest) ?? [];
  if (path === undefined || from === undefined || to === undefined) return undefined;
  const args = { file_path: path, old_string: unescapeText(from), new_string: unescapeText(to) };
  return calls({ name: "replace", args });
}

function parseCall(rest: string): Step | undefined {
  const [, name, json = "{}"] = /^(\S+)(?:\s+(\{.*\}))?$/s.exec(rest) ?? [];
  const args = parseJson(json);
  return name === undefined || !isObject(args) ? undefined : calls({ name, args });
}

function parseJson(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function unescapeText(text: string): string {
  return text.replaceAll("\\n", "\n").replaceAll("\\t", "\t");
}
