import { type Break, type Step, sayPiece } from "@devtool/coding-agent/script";
import { objectOrEmpty } from "@devtool/schema/json";
import type { FunctionResponse } from "./conversation.ts";

/** A part of a response in the API. */
export interface Part {
  readonly text?: string;
  readonly thought?: boolean;
  readonly functionCall?: {
    readonly name: string;
    readonly args: unknown;
    readonly id: string;
  };
  readonly thoughtSignature?: string;
}

/** A step of a response. */
export type Item =
  | { readonly case: "parts"; readonly parts: readonly Part[] }
  | { readonly case: "pause"; readonly ms: number }
  /** From here on, sends one byte each `ms` milliseconds. */
  | { readonly case: "drip"; readonly ms: number };

/** The response to one turn. */
export interface Plan {
  /** Responds with this status and nothing else. */
  readonly fail:
    | { readonly code: number; readonly retryAfterMs?: number }
    | undefined;
  readonly items: readonly Item[];
  readonly citations: readonly string[];
  /** How the stream ends: with a finish reason, or broken. */
  readonly end:
    | { readonly case: "finish"; readonly reason: string }
    | { readonly case: "break"; readonly how: Break };
}

/** Inputs of `planTurn`. */
export interface PlanContext {
  /** Number of this attempt at the turn, from 1. */
  readonly attempt: number;
  /** Number of the response, for its ids. */
  readonly serial: number;
}

/**
 * Plans the response to a turn. Steps that fail or break only the first
 * attempts are skipped later.
 */
export function planTurn(
  turn: readonly Step[],
  { attempt, serial }: PlanContext,
): Plan {
  const fail = turn.find((step) => step.case === "fail");
  const broken = turn.findIndex(
    (step) => step.case === "break" && attempt <= step.times,
  );
  const played = broken < 0 ? turn : turn.slice(0, broken);
  const items: Item[] = [];
  for (const each of played) items.push(...itemsOfStep(each, items, serial));
  const step = turn[broken];
  const isFaulty = turn.some(
    (each) => each.case === "fail" || each.case === "break",
  );
  const reason =
    played.findLast((each) => each.case === "finish")?.reason ?? "STOP";
  return {
    fail: fail && attempt <= fail.times ? fail : undefined,
    items:
      items.length === 0 && !step && isFaulty
        ? [text(`Recovered on attempt ${attempt}.`)]
        : items,
    citations: played.flatMap((each) =>
      each.case === "cite" ? [each.uri] : [],
    ),
    end:
      step?.case === "break"
        ? { case: "break", how: step.how }
        : { case: "finish", reason },
  };
}

/** Plans a response with a text. */
export function planText(value: string): Plan {
  return {
    fail: undefined,
    items: [text(value)],
    citations: [],
    end: { case: "finish", reason: "STOP" },
  };
}

/**
 * Returns the response after the end of a script: each call and the first line
 * of its result.
 */
export function summarize(responses: readonly FunctionResponse[]): string {
  if (responses.length === 0) return "Done.";
  const lines = responses.slice(0, 3).map(({ name, response }) => {
    const { output, error } = objectOrEmpty(response);
    const value = output ?? error ?? response ?? null;
    const text = typeof value === "string" ? value : JSON.stringify(value);
    return `${name} -> ${text.split("\n", 1)[0]?.slice(0, 80)}`;
  });
  const more = responses.length - lines.length;
  return `Done: ${lines.join("; ")}${more > 0 ? `; and ${more} more` : ""}.`;
}

/** Returns the items of a step. `items` are those of the steps before it. */
function itemsOfStep(
  step: Step,
  items: readonly Item[],
  serial: number,
): Item[] {
  switch (step.case) {
    case "say":
      return times(step.count, (index) => text(sayPiece(index, step.bytes)));
    case "text":
      return [text(step.text)];
    case "repeat":
      return times(step.count, () => text(step.text));
    case "think":
      return times(step.count, (index) => {
        return {
          case: "parts",
          parts: [
            {
              thought: true,
              text: `**Subject ${index}** Description ${index}.`,
            },
          ],
        };
      });
    case "call":
      return [callItem(step.calls, items, serial)];
    case "duplicate":
      return items.slice(-1);
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

/**
 * Returns the item of calls. The first call of a turn has the signature.
 * `items` are those before it.
 */
function callItem(
  calls: Extract<Step, { case: "call" }>["calls"],
  items: readonly Item[],
  serial: number,
): Item {
  const before = items
    .flatMap((item) => (item.case === "parts" ? item.parts : []))
    .filter(({ functionCall }) => functionCall !== undefined).length;
  const thoughtSignature = Buffer.from(`signature ${serial}`).toString(
    "base64",
  );
  const parts = calls.map(({ name, args }, index): Part => {
    const number = before + index + 1;
    const functionCall = { name, args, id: `call-${serial}-${number}` };
    return number === 1 ? { functionCall, thoughtSignature } : { functionCall };
  });
  return { case: "parts", parts };
}

function text(value: string): Item {
  return { case: "parts", parts: [{ text: value }] };
}

function times(count: number, make: (index: number) => Item): Item[] {
  return Array.from({ length: count }, (_, index) => make(index + 1));
}
