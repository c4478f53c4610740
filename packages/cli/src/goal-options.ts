import { create } from "@bufbuild/protobuf";
import { type Goal, GoalSchema } from "@devtool/schema";
import { UsageError } from "./errors.ts";
import type { PromptOptions } from "./prompt-source.ts";

/** What a job works for. */
export interface GoalOptions {
  /** What to achieve, in place of a prompt. */
  readonly goal?: string;
  /** The commands that check it. */
  readonly check?: readonly string[];
  /** The number of turns, in digits. */
  readonly maxTurns?: string;
  /** The cost of all turns, as a decimal number. */
  readonly maxCost?: string;
}

/**
 * Reads the goal of a job; undefined for a job without one. Throws for a goal
 * without checks, for options that need a goal, and for a number that is none.
 */
export function readGoal(
  words: string | undefined,
  {
    goal,
    check = [],
    maxTurns,
    maxCost,
    promptFile,
  }: GoalOptions & PromptOptions,
): Goal | undefined {
  if (goal === undefined) {
    const needing = {
      check: check[0],
      "max-turns": maxTurns,
      "max-cost": maxCost,
    };
    const isGiven = ([, value]: [string, string | undefined]): boolean =>
      value !== undefined;
    const [name] = Object.entries(needing).find(isGiven) ?? [];
    if (name === undefined) return undefined;
    throw new UsageError(
      `--${name} needs --goal: say with it what the agent is to achieve`,
    );
  }
  if (words !== undefined || promptFile !== undefined) {
    const given = words === undefined ? "--prompt-file" : "a prompt";
    throw new UsageError(`both --goal and ${given} are given: choose one`);
  }
  if (goal.trim() === "") {
    throw new UsageError("--goal is empty: say what the agent is to achieve");
  }
  if (check.length === 0) {
    throw new UsageError(
      "--goal needs --check: a command whose exit code 0 says that it is achieved",
    );
  }
  const cost =
    maxCost === undefined ? undefined : numberOf("max-cost", maxCost);
  return create(GoalSchema, {
    checks: [...check],
    maxTurns: maxTurns === undefined ? 0 : numberOf("max-turns", maxTurns),
    ...(cost !== undefined && { budget: { cost } }),
  });
}

function numberOf(option: "max-turns" | "max-cost", text: string): number {
  const form =
    option === "max-turns" ? /^([1-9]\d{0,2}|1000)$/ : /^\d+(\.\d+)?$/;
  const value = form.test(text) ? Number(text) : 0;
  if (value > 0) return value;
  const remedy = option === "max-turns" ? "give 1 to 1000" : "give 5 or 0.5";
  throw new UsageError(`--${option} "${text}" is not valid: ${remedy}`);
}
