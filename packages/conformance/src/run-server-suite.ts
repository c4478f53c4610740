import { fromJson } from "@bufbuild/protobuf";
import { DEFAULT_LIMITS, EXTENSION_URI } from "@devtool/schema";
import { type Case, type Step, type Suite, SuiteSchema } from "@devtool/schema/conformance";
import type { CaseResult } from "./case-result.ts";
import { type Exchange, play, type ServerTarget } from "./exchange.ts";
import { resultOf, unexpected } from "./expect.ts";
import scriptedPrompts from "./suites/scripted-prompts.json" with { type: "json" };
import serverSuite from "./suites/server-a2a-v03.json" with { type: "json" };
import { Variables } from "./variables.ts";

/** How to play a suite. */
export interface ServerSuiteOptions {
  /** The prompt that makes the agent behave as a case needs it, by the name of the behaviour. Default: our step language. */
  readonly prompts?: Readonly<Record<string, string>>;
  /** A case may take so many milliseconds. Default 30,000. */
  readonly timeoutMs?: number;
}

/** The cases for servers of A2A 0.3, as data. */
export function serverCases(): Suite {
  return fromJson(SuiteSchema, serverSuite);
}

/** Plays all cases against a server, one after the other, over the wire. Results come as they are known. */
export async function* runServerSuite(
  target: ServerTarget,
  signal: AbortSignal,
  { prompts = {}, timeoutMs = 30_000 }: ServerSuiteOptions = {},
): AsyncIterable<CaseResult> {
  const known = Object.entries({ ...scriptedPrompts, ...prompts }).map(([name, text]) => [`prompt:${name}`, text]);
  for (const one of serverCases().cases) {
    signal.throwIfAborted();
    const limited = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
    yield runCase(one, { target, variables: variablesOf(Object.fromEntries(known)) }, limited);
  }
}

function variablesOf(prompts: Readonly<Record<string, string>>): Variables {
  return new Variables({
    ...prompts,
    extension: EXTENSION_URI,
    retried: crypto.randomUUID(),
    deep: `${"[".repeat(100_000)}`,
    huge: JSON.stringify("x".repeat(DEFAULT_LIMITS.maxBytes + 1)),
  });
}

interface CaseContext {
  readonly target: ServerTarget;
  readonly variables: Variables;
}

async function runCase(
  { id, requirements, steps }: Case,
  context: CaseContext,
  signal: AbortSignal,
): Promise<CaseResult> {
  const start = performance.now();
  const reason = await firstProblem(steps, context, signal).catch((error: unknown) => String(error));
  const durationMs = Math.round(performance.now() - start);
  if (reason === undefined) return { id, requirements, status: "passed", durationMs };
  return { id, requirements, status: "failed", reason, durationMs };
}

async function firstProblem(
  steps: readonly Step[],
  context: CaseContext,
  signal: AbortSignal,
): Promise<string | undefined> {
  for (const [index, step] of steps.entries()) {
    const exchange = await play(step, context, signal);
    const problem = step.expect && unexpected(step.expect, exchange, context.variables);
    if (problem !== undefined) return `step ${index + 1} (${step.method || step.http?.path}): ${problem}`;
    capture(step, exchange, context.variables);
  }
  return undefined;
}

/** Remembers what a step names: for each, the first document that has a string there. */
function capture({ capture: wanted }: Step, { documents }: Exchange, variables: Variables): void {
  for (const [name, path] of Object.entries(wanted)) {
    const values = documents.map(({ json }) => at(resultOf(json), path.split(".")));
    const value = values.find((found) => typeof found === "string");
    if (typeof value === "string") variables.set(name, value);
  }
}

function at(value: unknown, keys: readonly string[]): unknown {
  return keys.reduce<unknown>((inner, key) => (isRecord(inner) ? inner[key] : undefined), value);
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}
