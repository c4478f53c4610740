import { Code, DevtoolError } from "../../errors.ts";
import { type PatternNode, parsePattern } from "./pattern-syntax.ts";

/** A text longer than this is not searched. */
export const MAX_SEARCHED_LENGTH: number = 64 * 1024;
/** A pattern may compile to so many steps. */
const MAX_STEPS = 600;

/** A pattern that finds what it stands for in time proportional to the text: it never goes back. */
export interface Pattern {
  /** Tells whether it occurs in a text; undefined for a text that is too long to search. */
  occursIn(text: string): boolean | undefined;
}

/**
 * Compiles a pattern that occurs somewhere in a text, or is the whole of it. Throws `Code.InvalidArgument` for one that
 * is not understood or too large.
 */
export function compilePattern(text: string, place: "part" | "whole" = "part"): Pattern {
  const node = parsePattern(text);
  const steps: Step[] = [];
  emit(place === "part" ? node : { case: "sequence", parts: [{ case: "start" }, node, { case: "end" }] }, steps, text);
  steps.push({ case: "found" });
  return { occursIn: (searched) => (searched.length > MAX_SEARCHED_LENGTH ? undefined : search(steps, searched)) };
}

type Step =
  | { readonly case: "one"; readonly accepts: (codePoint: number) => boolean }
  /** Goes on at the next step and at these. */
  | { readonly case: "fork"; readonly targets: number[] }
  /** Goes on at these only. */
  | { readonly case: "jump"; readonly targets: number[] }
  | { readonly case: "start" }
  | { readonly case: "end" }
  | { readonly case: "found" };

function emit(node: PatternNode, steps: Step[], text: string): void {
  if (steps.length > MAX_STEPS)
    throw new DevtoolError(`pattern ${JSON.stringify(text)} is too large: use lower counts`, Code.InvalidArgument);
  switch (node.case) {
    case "sequence":
      for (const part of node.parts) emit(part, steps, text);
      break;
    case "choice":
      emitChoice(node.parts, steps, text);
      break;
    case "repeat":
      emitRepeat(node, steps, text);
      break;
    case "one":
    case "start":
    case "end":
      steps.push(node);
      break;
    default:
      node satisfies never;
  }
}

function emitChoice(parts: readonly PatternNode[], steps: Step[], text: string): void {
  const ends: number[][] = [];
  for (const [index, part] of parts.entries()) {
    const targets: number[] = [];
    const isLast = index === parts.length - 1;
    if (!isLast) steps.push({ case: "fork", targets });
    emit(part, steps, text);
    if (isLast) continue;
    const end: number[] = [];
    steps.push({ case: "jump", targets: end });
    ends.push(end);
    targets.push(steps.length);
  }
  for (const end of ends) end.push(steps.length);
}

function emitRepeat({ part, min, max }: Extract<PatternNode, { case: "repeat" }>, steps: Step[], text: string): void {
  for (let count = 0; count < min; count++) emit(part, steps, text);
  if (max === Number.POSITIVE_INFINITY) emitLoop(part, steps, text);
  else emitOptional(part, max - min, steps, text);
}

function emitOptional(part: PatternNode, times: number, steps: Step[], text: string): void {
  const skips: number[][] = [];
  for (let count = 0; count < times; count++) {
    const targets: number[] = [];
    steps.push({ case: "fork", targets });
    skips.push(targets);
    emit(part, steps, text);
  }
  for (const skip of skips) skip.push(steps.length);
}

function emitLoop(part: PatternNode, steps: Step[], text: string): void {
  const after: number[] = [];
  const start = steps.length;
  steps.push({ case: "fork", targets: after });
  emit(part, steps, text);
  steps.push({ case: "jump", targets: [start] });
  after.push(steps.length);
}

/** Follows all ways at once; each step is in the set of live ones at most once for a character. */
function search(steps: readonly Step[], text: string): boolean {
  const characters = [...text];
  let live = new Set<number>();
  for (let at = 0; at <= characters.length; at++) {
    const place = { isStart: at === 0, isEnd: at === characters.length };
    const reached = new Set<number>();
    for (const index of [...live, 0]) follow(index, steps, place, reached);
    if (reached.has(steps.length - 1)) return true;
    const codePoint = characters[at]?.codePointAt(0) ?? -1;
    live = new Set([...reached].filter((index) => accepts(steps[index], codePoint)).map((index) => index + 1));
  }
  return false;
}

function accepts(step: Step | undefined, codePoint: number): boolean {
  return step?.case === "one" && codePoint >= 0 && step.accepts(codePoint);
}

interface Place {
  readonly isStart: boolean;
  readonly isEnd: boolean;
}

/** Adds every step that can be reached without taking a character. */
function follow(index: number, steps: readonly Step[], place: Place, reached: Set<number>): void {
  const open = [index];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (reached.has(next)) continue;
    reached.add(next);
    const step = steps[next];
    if (step?.case === "fork" || step?.case === "jump") open.push(...step.targets);
    const goesOn =
      step?.case === "fork" || (step?.case === "start" && place.isStart) || (step?.case === "end" && place.isEnd);
    if (goesOn) open.push(next + 1);
  }
}
