import { type Break, type Step, sayPiece } from "@devtool/coding-agent/script";
import type { FunctionResponse } from "./conversation.ts";
import { isObject, member } from "./json.ts";

/** A part of an answer, as the API has it. */
export interface Part {
  readonly text?: string;
  readonly thought?: boolean;
  readonly functionCall?: { readonly name: string; readonly args: unknown; readonly id: string };
  readonly thoughtSignature?: string;
}

/** What is done in turn. */
export type Item =
  | { readonly case: "parts"; readonly parts: readonly Part[] }
  | { readonly case: "pause"; readonly ms: number }
  /** From here on a byte is sent each so many milliseconds. */
  | { readonly case: "drip"; readonly ms: number };

/** How one turn is answered. */
export interface Plan {
  /** Answers with this status instead, and nothing else. */
  readonly fail: { readonly code: number; readonly retryAfterMs?: number } | undefined;
  readonly items: readonly Item[];
  readonly citations: readonly string[];
  /** How the stream ends: with a finish reason, or broken. */
  readonly end: { readonly case: "finish"; readonly reason: string } | { readonly case: "break"; readonly how: Break };
}

/** What a plan is made from. */
export interface PlanContext {
  /** Counts the tries of this turn, this one included. */
  readonly attempt: number;
  /** Distinguishes answers from each other. */
  readonly serial: number;
}

/** Plans a turn: steps that break it only in their first tries are left out after those. */
export function planTurn(turn: readonly Step[], { attempt, serial }: PlanContext): Plan {
  const fail = turn.find((step) => step.case === "fail");
  const broken = turn.findIndex((step) => step.case === "break" && attempt <= step.times);
  const played = broken < 0 ? turn : turn.slice(0, broken);
  const items = itemsOf(played, serial);
  const step = turn[broken];
  return {
    fail: fail && attempt <= fail.times ? fail : undefined,
    items: items.length === 0 && !step && turn.some(isFault) ? [text(`Recovered on attempt ${attempt}.`)] : items,
    citations: played.flatMap((each) => (each.case === "cite" ? [each.uri] : [])),
    end: step?.case === "break" ? { case: "break", how: step.how } : { case: "finish", reason: reasonOf(played) },
  };
}

function isFault(step: Step): boolean {
  return step.case === "fail" || step.case === "break";
}

/** Plans to say so many words. */
export function planText(value: string): Plan {
  return { fail: undefined, items: [text(value)], citations: [], end: { case: "finish", reason: "STOP" } };
}

/** What is said when a script is used up: each call and the first line of what came of it. */
export function summarize(responses: readonly FunctionResponse[]): string {
  if (responses.length === 0) return "Done.";
  const lines = responses.slice(0, 3).map(({ name, response }) => `${name} -> ${firstLine(response)}`);
  const more = responses.length - lines.length;
  return `Done: ${lines.join("; ")}${more > 0 ? `; and ${more} more` : ""}.`;
}

function firstLine(response: unknown): string {
  const value = member(response, "output") ?? member(response, "error") ?? response ?? null;
  const whole = typeof value === "string" ? value : JSON.stringify(value);
  return whole.split("\n", 1)[0]?.slice(0, 80) ?? "";
}

function reasonOf(turn: readonly Step[]): string {
  return turn.findLast((step) => step.case === "finish")?.reason ?? "STOP";
}

function itemsOf(turn: readonly Step[], serial: number): Item[] {
  const items: Item[] = [];
  for (const step of turn) items.push(...itemsOfStep(step, { items, serial }));
  return items;
}

function itemsOfStep(step: Step, context: { readonly items: readonly Item[]; readonly serial: number }): Item[] {
  switch (step.case) {
    case "say":
      return times(step.count, (index) => text(sayPiece(index, step.bytes)));
    case "text":
      return [text(step.text)];
    case "repeat":
      return times(step.count, () => text(step.text));
    case "think":
      return times(step.count, (index) => parts({ thought: true, text: `**Subject ${index}** Description ${index}.` }));
    case "call":
      return [callItem(step, context)];
    case "duplicate":
      return context.items.slice(-1);
    case "wait":
      return [{ case: "pause", ms: step.ms }];
    case "drip":
      return [step];
    case "cite":
    case "finish":
    case "fail":
    case "break":
    case "next":
      return [];
    default:
      return step satisfies never;
  }
}

/** Calls made together are one item; the first of a turn carries the signature. */
function callItem(
  { calls }: Extract<Step, { case: "call" }>,
  { items, serial }: { readonly items: readonly Item[]; readonly serial: number },
): Item {
  const before = items.flatMap((item) => (item.case === "parts" ? item.parts : [])).filter(isCall).length;
  const made = calls.map(({ name, args }, index): Part => {
    const functionCall = { name, args, id: `call-${serial}-${before + index + 1}` };
    return before + index === 0 ? { functionCall, thoughtSignature: signature(serial) } : { functionCall };
  });
  return parts(...made);
}

function signature(serial: number): string {
  return Buffer.from(`signature ${serial}`).toString("base64");
}

function isCall({ functionCall }: Part): boolean {
  return isObject(functionCall);
}

function text(value: string): Item {
  return parts({ text: value });
}

function parts(...list: readonly Part[]): Item {
  return { case: "parts", parts: list };
}

function times(count: number, make: (index: number) => Item): Item[] {
  return Array.from({ length: count }, (_, index) => make(index + 1));
}
