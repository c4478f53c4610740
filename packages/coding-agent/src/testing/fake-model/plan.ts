import { objectOrEmpty } from "@devtool/internal/json";
import {
  type Break,
  type Instruction,
  sayPiece,
} from "../../agent/scripted/script.ts";
import type { CallResult } from "./conversation.ts";
import { type DeclaredTool, fitCall } from "./declared-tool.ts";

/** A call of a tool in an answer. */
export interface PlannedCall {
  readonly id: string;
  readonly name: string;
  readonly args: unknown;
  /** Whether this is the first call of the answer. */
  readonly isFirst: boolean;
}

/** A piece of an answer. */
export type Content =
  | { readonly case: "text"; readonly text: string }
  | { readonly case: "thought"; readonly text: string }
  | { readonly case: "calls"; readonly calls: readonly PlannedCall[] };

/** A piece of an answer, or how the next ones are sent. */
export type Item =
  | Content
  | { readonly case: "pause"; readonly ms: number }
  /** From here on, sends one byte each `ms` milliseconds. */
  | { readonly case: "drip"; readonly ms: number };

/** The answer to one turn. */
export interface Plan {
  /** Responds with this status and nothing else. */
  readonly fail:
    | { readonly code: number; readonly retryAfterMs?: number }
    | undefined;
  readonly items: readonly Item[];
  readonly citations: readonly string[];
  /**
   * How the answer ends: for a reason, which is `STOP` if it ends well, or
   * broken.
   */
  readonly end:
    | { readonly case: "finish"; readonly reason: string }
    | { readonly case: "break"; readonly how: Break };
}

/** Inputs of `planTurn`. */
export interface PlanContext {
  /** Number of this attempt at the turn, from 1. */
  readonly attempt: number;
  /** Number of the answer, for its ids. */
  readonly serial: number;
  /** The tools that the request declares. */
  readonly tools: readonly DeclaredTool[];
}

/**
 * Plans the answer to a turn. Steps that fail or break only the first attempts
 * are skipped later.
 */
export function planTurn(
  turn: readonly Instruction[],
  context: PlanContext,
): Plan {
  const { attempt } = context;
  const fail = turn.find((step) => step.case === "fail");
  const broken = turn.findIndex(
    (step) => step.case === "break" && attempt <= step.times,
  );
  const played = broken < 0 ? turn : turn.slice(0, broken);
  const items: Item[] = [];
  for (const each of played) items.push(...itemsOfStep(each, items, context));
  const step = turn[broken];
  const isFaulty = turn.some(
    (each) => each.case === "fail" || each.case === "break",
  );
  const reason =
    played.findLast((each) => each.case === "finish")?.reason ?? "STOP";
  const recovered: Item = {
    case: "text",
    text: `Recovered on attempt ${attempt}.`,
  };
  return {
    fail: fail && attempt <= fail.times ? fail : undefined,
    items: items.length === 0 && !step && isFaulty ? [recovered] : items,
    citations: played.flatMap((each) =>
      each.case === "cite" ? [each.uri] : [],
    ),
    end:
      step?.case === "break"
        ? { case: "break", how: step.how }
        : { case: "finish", reason },
  };
}

/** Plans an answer with a text. */
export function planText(text: string): Plan {
  return {
    fail: undefined,
    items: [{ case: "text", text }],
    citations: [],
    end: { case: "finish", reason: "STOP" },
  };
}

/**
 * Returns the answer after the end of a script: each call and the first line of
 * its result.
 */
export function summarize(results: readonly CallResult[]): string {
  if (results.length === 0) return "Done.";
  const lines = results.slice(0, 3).map(({ name, value }) => {
    const { output, error } = objectOrEmpty(value);
    const shown = output ?? error ?? value ?? null;
    const text = typeof shown === "string" ? shown : JSON.stringify(shown);
    return `${name} -> ${text.split("\n", 1)[0]?.slice(0, 80)}`;
  });
  const more = results.length - lines.length;
  return `Done: ${lines.join("; ")}${more > 0 ? `; and ${more} more` : ""}.`;
}

/** Returns the items of a step. `items` are those of the steps before it. */
function itemsOfStep(
  step: Instruction,
  items: readonly Item[],
  context: PlanContext,
): Item[] {
  switch (step.case) {
    case "say":
      return times(step.count, (index) => ({
        case: "text",
        text: sayPiece(index, step.bytes),
      }));
    case "text":
      return [{ case: "text", text: step.text }];
    case "repeat":
      return times(step.count, () => ({ case: "text", text: step.text }));
    case "think":
      return times(step.count, (index) => ({
        case: "thought",
        text: `**Subject ${index}** Description ${index}.`,
      }));
    case "call": {
      const before = items.flatMap((item) =>
        item.case === "calls" ? item.calls : [],
      ).length;
      const calls = step.calls.map((call, index): PlannedCall => {
        const { name, args } = fitCall(call, context.tools);
        return {
          id: `call-${context.serial}-${before + index + 1}`,
          name,
          args,
          isFirst: before + index === 0,
        };
      });
      return [{ case: "calls", calls }];
    }
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
 * Returns pieces of a text, in two halves: APIs stream thoughts and arguments
 * in pieces.
 */
export function halves(text: string): string[] {
  const middle = Math.ceil(text.length / 2);
  return [text.slice(0, middle), text.slice(middle)].filter(
    (half) => half !== "",
  );
}

function times(count: number, make: (index: number) => Item): Item[] {
  return Array.from({ length: count }, (_, index) => make(index + 1));
}
