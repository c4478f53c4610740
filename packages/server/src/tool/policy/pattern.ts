import { Code, DevtoolError } from "../../errors.ts";
import { type PatternNode, parsePattern } from "./pattern-syntax.ts";

/** A text longer than this is not searched. */
export const MAX_SEARCHED_LENGTH: number = 64 * 1024;
/** A pattern may compile to so many steps. */
const MAX_STEPS = 300;

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

/** Follows all ways at once; each step is among the live ones at most once for a character. */
function search(steps: readonly Step[], text: string): boolean {
  const front = new Front(steps, text.length);
  let live: number[] = [];
  for (let at = 0; at <= text.length; ) {
    const waiting: number[] = [];
    for (const index of live) front.reach(index, at, waiting);
    front.reach(0, at, waiting);
    if (front.isFound) return true;
    const codePoint = text.codePointAt(at) ?? -1;
    live = front.taking(codePoint, waiting);
    at += codePoint > 0xffff ? 2 : 1;
  }
  return false;
}

/** The steps that are reached at one place of the text. */
class Front {
  readonly #steps: readonly Step[];
  readonly #length: number;
  /** The place at which each step was reached last. */
  readonly #reachedAt: Int32Array;
  readonly #open: number[] = [];
  #isFound = false;

  constructor(steps: readonly Step[], length: number) {
    this.#steps = steps;
    this.#length = length;
    this.#reachedAt = new Int32Array(steps.length).fill(-1);
  }

  get isFound(): boolean {
    return this.#isFound;
  }

  /** Adds to `waiting` every step that takes a character and is reached from a step without taking one. */
  reach(from: number, at: number, waiting: number[]): void {
    this.#open.push(from);
    for (let index = this.#open.pop(); index !== undefined; index = this.#open.pop()) {
      if (this.#reachedAt[index] === at) continue;
      this.#reachedAt[index] = at;
      this.#pass(index, at, waiting);
    }
  }

  /** The steps after those that take a character. */
  taking(codePoint: number, waiting: readonly number[]): number[] {
    const after: number[] = [];
    for (const index of waiting) {
      const step = this.#steps[index];
      if (step?.case === "one" && codePoint >= 0 && step.accepts(codePoint)) after.push(index + 1);
    }
    return after;
  }

  #pass(index: number, at: number, waiting: number[]): void {
    const step = this.#steps[index];
    switch (step?.case) {
      case "one":
        waiting.push(index);
        break;
      case "fork":
        this.#open.push(...step.targets, index + 1);
        break;
      case "jump":
        this.#open.push(...step.targets);
        break;
      case "start":
        if (at === 0) this.#open.push(index + 1);
        break;
      case "end":
        if (at === this.#length) this.#open.push(index + 1);
        break;
      case "found":
        this.#isFound = true;
        break;
      case undefined:
        break;
      default:
        step satisfies never;
    }
  }
}
