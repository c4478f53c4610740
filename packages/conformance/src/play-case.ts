import { type JsonObject, toJson } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import type { Case, Step } from "@devtool/schema/conformance";
import type { BindingName, Call, Exchange } from "./binding/binding.ts";
import { headersOf, objectsIn, sendHttp } from "./binding/http.ts";
import type { Recording } from "./binding/recording.ts";
import type { CaseFailure } from "./case-result.ts";
import { repeatedId, resultOf, unexpected } from "./expect.ts";
import type { Subject } from "./find-subject.ts";
import { breachesOf } from "./laws.ts";
import type { Variables } from "./variables.ts";

/** What a case is played with. */
export interface CaseContext {
  readonly subject: Subject;
  readonly variables: Variables;
  readonly recording: Recording;
}

/** The steps of a case that are played in a binding. */
export function stepsFor({ bindings, steps }: Case, name: BindingName): readonly Step[] {
  const isFor = (names: readonly string[]): boolean => names.length === 0 || names.includes(name);
  return isFor(bindings) ? steps.filter((step) => isFor(step.bindings)) : [];
}

/**
 * Plays a case and says what was not as it must be. The first step whose expectation is not met is the last; what every
 * exchange must hold to is told beside it.
 */
export async function playCase(one: Case, context: CaseContext, signal: AbortSignal): Promise<CaseFailure[]> {
  const failures: CaseFailure[] = [];
  const knownIds = new Set<string>();
  for (const [index, step] of stepsFor(one, context.subject.binding.name).entries()) {
    const fail = (requirements: readonly string[], reason: string, reading?: string): void => {
      const what = step.method || `${step.http?.method || "GET"} ${context.variables.text(step.http?.path ?? "")}`;
      failures.push({
        requirements,
        step: index + 1,
        reason: `step ${index + 1} (${what}): ${reason}`,
        ...(reading !== undefined && { reading }),
      });
    };
    context.recording.begin(index + 1);
    try {
      const { breaches, problem, reading } = await playStep(step, { ...context, knownIds }, signal);
      for (const { requirement, reason } of breaches) fail([requirement], reason);
      if (problem === undefined) continue;
      fail(requirementsOf(one, step), problem, reading);
    } catch (reason) {
      fail(requirementsOf(one, step), messageOf(reason));
    }
    break;
  }
  return failures;
}

function requirementsOf(one: Case, step: Step): readonly string[] {
  return step.requirements.length > 0 ? step.requirements : one.requirements;
}

function messageOf(reason: unknown): string {
  if (!(reason instanceof Error)) return String(reason);
  if (reason.name === "TimeoutError") return "nothing more came in time";
  const { cause } = reason;
  return cause instanceof Error ? `${reason.message}: ${cause.message}` : reason.message;
}

interface Played {
  readonly breaches: ReturnType<typeof breachesOf>;
  readonly problem: string | undefined;
  /** The reading by which the answer is right all the same. */
  readonly reading: string | undefined;
}

/** What a step is played with. */
interface StepContext extends CaseContext {
  /** The ids of the frames that came in the case so far. */
  readonly knownIds: Set<string>;
}

async function playStep(step: Step, context: StepContext, signal: AbortSignal): Promise<Played> {
  const { subject, variables, knownIds } = context;
  const call = step.http ? undefined : callOf(step, variables);
  const exchange = call
    ? await subject.binding.play(call, context.recording, signal)
    : await plainExchange(step, context, signal);
  const breaches = breachesOf(call, exchange, subject.binding.protocolVersion);
  const repeated = step.expect?.newIds ? repeatedId(exchange, knownIds) : undefined;
  const problem = repeated ?? (step.expect && unexpected(step.expect, exchange, variables));
  const reading = problem === undefined ? undefined : readingOf(step, exchange, context);
  return { breaches, problem: problem ?? capture(step, exchange, variables), reading };
}

function readingOf({ reading }: Step, exchange: Exchange, { subject, variables }: CaseContext): string | undefined {
  if (!reading?.expect || !reading.needs.every((need) => subject.claims.has(need))) return undefined;
  const isFollowed = unexpected(reading.expect, exchange, variables) === undefined;
  return isFollowed ? `${reading.requirement}: ${reading.reason}` : undefined;
}

function callOf({ method, params, headers, leaveAfter }: Step, variables: Variables): Call {
  return {
    method,
    params: params && objectIn(variables.fill(toJson(ValueSchema, params))),
    headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, variables.text(value)])),
    leaveAfter: leaveAfter || Number.POSITIVE_INFINITY,
  };
}

function objectIn(json: ReturnType<Variables["fill"]>): JsonObject {
  if (typeof json === "object" && json !== null && !Array.isArray(json)) return json;
  throw new Error("the params of a step must be an object");
}

async function plainExchange(
  { http, headers, leaveAfter }: Step,
  { subject, variables, recording }: CaseContext,
  signal: AbortSignal,
): Promise<Exchange> {
  const method = http?.method || "GET";
  const base = `${subject.url.replace(/\/+$/, "")}/`;
  const path = variables.text(http?.path ?? "").replace(/^\//, "");
  const changes = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, variables.text(value)]));
  const usual = { accept: "application/json", "content-type": "application/json" };
  const request = {
    method,
    url: new URL(path, base).href,
    headers: headersOf(usual, { token: subject.token, changes }),
    body: method === "GET" || method === "DELETE" ? undefined : variables.text(http?.body ?? ""),
  };
  const options = { recording, leaveAfter: leaveAfter || Number.POSITIVE_INFINITY, trust: subject.trust };
  const answer = await sendHttp(request, options, signal);
  return { ...answer, documents: objectsIn(answer), breaches: [] };
}

/** Remembers what a step names: for each, the first document that has a string there. Says what is not there. */
function capture({ capture: wanted }: Step, exchange: Exchange, variables: Variables): string | undefined {
  for (const [name, path] of Object.entries(wanted)) {
    const value = valuesAt(path, exchange).find((found) => typeof found === "string");
    if (typeof value !== "string") return `nothing came that has a string at ${path}`;
    variables.set(name, value);
  }
  return undefined;
}

function valuesAt(path: string, { documents, headers }: Exchange): unknown[] {
  const header = /^<header:(.+)>$/.exec(path)?.[1];
  if (header !== undefined) return [headers.get(header)];
  return documents.map(({ json }) => at(resultOf(json), path.split(".")));
}

function at(value: unknown, keys: readonly string[]): unknown {
  return keys.reduce<unknown>((inner, key) => (isRecord(inner) ? inner[key] : undefined), value);
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}
