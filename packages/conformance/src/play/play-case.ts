import { toJson } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import { defined, isObject, objectOrEmpty } from "@devtool/internal/json";
import { AgentCardSchema } from "@devtool/schema/a2a-v1";
import { a2aJsonProblem } from "../binding/a2a-json.ts";
import type { Breach, Call, Exchange } from "../binding/binding.ts";
import { asObjects, requestHeaders, sendHttp } from "../binding/http.ts";
import type { Recording } from "../binding/recording.ts";
import type { Variables } from "../match/variables.ts";
import type { Case, Step } from "../protos.ts";
import { CARD_PATH, type Subject } from "../subject/find-subject.ts";
import type { Prompts } from "../suites/prompts.ts";
import type { CaseFailure, CaseOutcome } from "./case-result.ts";
import {
  repeatedIdProblem,
  resultOf,
  resultsOf,
  unexpected,
} from "./expect.ts";
import { lawBreaches } from "./laws.ts";
import { otherBehaviour } from "./other-behaviour.ts";

/**
 * The server under test, the values of the case's placeholders, and the
 * evidence so far.
 */
export interface CaseContext {
  readonly subject: Subject;
  readonly variables: Variables;
  /** The prompts that the agent gets. */
  readonly prompts: Prompts;
  readonly recording: Recording;
  /**
   * The time limit of the case in milliseconds.
   */
  readonly timeoutMs: number;
}

/**
 * Returns the steps of a case that are played against a server. Empty if the
 * case is not for its binding.
 */
export function stepsFor(
  { bindings, steps }: Case,
  { binding, claims }: Subject,
): readonly Step[] {
  const includesBinding = (names: readonly string[]): boolean =>
    names.length === 0 || names.includes(binding.name);
  return includesBinding(bindings)
    ? steps.filter(
        (step) =>
          includesBinding(step.bindings) &&
          unmetNeed(step.needs, claims) === undefined,
      )
    : [];
}

/** Returns the first need of a case or a step that a card does not meet. */
export function unmetNeed(
  needs: readonly string[],
  claims: Subject["claims"],
): string | undefined {
  return needs.find(
    (need) => claims.has(need.replace("!", "")) === need.startsWith("!"),
  );
}

/**
 * Plays a case. Breaches of a law are reported for every step; the first step
 * whose own expectation is not met, or whose answer cannot be read, ends the
 * case.
 */
export async function playCase(
  one: Case,
  context: CaseContext,
  signal: AbortSignal,
): Promise<CaseOutcome> {
  const { subject, variables, recording } = context;
  const failures: CaseFailure[] = [];
  const warnings = new Set<string>();
  const knownIds = new Set<string>();
  for (const [index, step] of stepsFor(one, subject).entries()) {
    const number = index + 1;
    const title = titleOf(step, variables);
    const addFailure = (
      requirements: readonly string[],
      reason: string,
      reading?: string,
    ): void => {
      const failure = {
        requirements,
        step: number,
        reason: `step ${number} (${title}): ${reason}`,
        reading,
      };
      failures.push(defined(failure));
    };
    const requirements =
      step.requirements.length > 0 ? step.requirements : one.requirements;
    recording.startStep(number);
    try {
      const result = await playStep(step, context, knownIds, signal);
      for (const { requirement, reason, isHarmless } of result.breaches) {
        const isAsked = one.requirements.includes(requirement);
        if (isAsked || !isHarmless) addFailure([requirement], reason);
      }
      for (const warning of result.warnings) warnings.add(warning);
      const { problem, reading, isLast, skipped } = result;
      if (skipped !== undefined) {
        return { failures, warnings: [...warnings], skipped };
      }
      if (problem === undefined && !isLast) continue;
      if (problem !== undefined) addFailure(requirements, problem, reading);
    } catch (reason) {
      addFailure(requirements, describeError(reason, context));
    }
    break;
  }
  return { failures, warnings: [...warnings] };
}

/**
 * The request of a step in a few words: its method or path, and its headers.
 */
function titleOf(
  { method, http, headers }: Step,
  variables: Variables,
): string {
  const request =
    method ||
    `${http?.method || "GET"} ${variables.fillText(http?.path ?? "")}`;
  const named = Object.entries(headers).filter(
    ([name, value]) => value !== "" && !/extensions|authorization/.test(name),
  );
  const words = named.map(
    ([name, value]) => `${name} ${variables.fillText(value)}`,
  );
  return [request, ...words].join(", ");
}

function describeError(
  reason: unknown,
  { recording, timeoutMs }: CaseContext,
): string {
  if (!(reason instanceof Error)) return String(reason);
  if (reason.name !== "TimeoutError") return reason.message;
  const limit = `${timeoutMs / 1_000} s, the time limit of the case (--timeout)`;
  return recording.isAnswered
    ? `the answer did not end within ${limit}`
    : `no answer came within ${limit}`;
}

interface StepResult {
  readonly breaches: readonly Breach[];
  readonly warnings: readonly string[];
  readonly problem: string | undefined;
  readonly skipped?: string | undefined;
  /**
   * Whether the next step cannot be played.
   */
  readonly isLast: boolean;
  /**
   * The other requirement by which the answer is right, if two contradict each
   * other.
   */
  readonly reading: string | undefined;
}

/**
 * Plays a step. `knownIds` holds the event ids of the case so far.
 */
async function playStep(
  step: Step,
  context: CaseContext,
  knownIds: Set<string>,
  signal: AbortSignal,
): Promise<StepResult> {
  const { subject, variables } = context;
  const call = step.http ? undefined : callFromStep(step, variables);
  const exchange = call
    ? await subject.binding.play(call, context.recording, signal)
    : await playHttpStep(step, context, signal);
  // Who accepts what must be refused may repeat it, with its mistakes.
  const isAccepted =
    step.expect?.errorCode !== undefined &&
    resultsOf(exchange.documents).length > 0;
  const breaches = isAccepted
    ? []
    : lawBreaches(call, exchange, subject.binding.protocolVersion);
  const { warnings = [] } = exchange;
  const isLast = breaches.some(({ endsCase }) => endsCase);
  const found = { breaches, warnings, isLast };
  if (isLast) return { ...found, problem: undefined, reading: undefined };
  const repeated = step.expect?.newIds
    ? repeatedIdProblem(exchange, knownIds)
    : undefined;
  const problem =
    repeated ??
    (step.expect && unexpected(step.expect, exchange, variables)) ??
    capture(step, exchange, variables);
  const skipped = otherBehaviour(step, call, exchange, context, problem);
  if (problem === undefined) {
    return { ...found, problem, skipped, reading: undefined };
  }
  const { reading } = step;
  const isReading =
    reading?.expect &&
    reading.needs.every((need) => subject.claims.has(need)) &&
    unexpected(reading.expect, exchange, variables) === undefined;
  return {
    ...found,
    problem,
    skipped,
    reading: isReading
      ? `${reading.requirement}: ${reading.reason}`
      : undefined,
  };
}

function callFromStep(
  { method, params, headers, leaveAfter }: Step,
  variables: Variables,
): Call {
  const json = params && variables.fill(toJson(ValueSchema, params));
  if (json !== undefined && !isObject(json)) {
    throw new Error("the params of a step must be an object");
  }
  return {
    method,
    params: json,
    headers: variables.fillValues(headers),
    leaveAfter: leaveAfter || Number.POSITIVE_INFINITY,
  };
}

/**
 * Plays a step that is a plain HTTP request to the server's URL instead of a
 * call of A2A.
 */
async function playHttpStep(
  { http, headers, leaveAfter }: Step,
  { subject, variables, recording }: CaseContext,
  signal: AbortSignal,
): Promise<Exchange> {
  const method = http?.method || "GET";
  const base = `${subject.url.replace(/\/+$/, "")}/`;
  const path = variables.fillText(http?.path ?? "").replace(/^\//, "");
  const usual = {
    accept: "application/json",
    "content-type": "application/json",
  };
  const request = {
    method,
    url: http?.path === CARD_PATH ? subject.cardUrl : new URL(path, base).href,
    headers: requestHeaders(
      usual,
      subject.token,
      variables.fillValues(headers),
    ),
    body:
      method === "GET" || method === "DELETE"
        ? undefined
        : variables.fillText(http?.body ?? ""),
  };
  const options = {
    recording,
    leaveAfter: leaveAfter || Number.POSITIVE_INFINITY,
    trust: subject.trust,
  };
  const answer = await sendHttp(request, options, signal);
  if (answer.problem !== undefined && answer.documents.length === 0) {
    throw new Error(answer.problem);
  }
  const [card] = http?.path === CARD_PATH ? answer.documents : [];
  const problem =
    card && subject.binding.protocolVersion === "1.0"
      ? a2aJsonProblem(AgentCardSchema, card.json)
      : undefined;
  const breaches =
    problem === undefined
      ? []
      : [{ requirement: "A2A1-CARD", reason: problem }];
  return { ...answer, documents: asObjects(answer), breaches };
}

/**
 * Sets the variables that a step names, each from the first document that has a
 * string at its path. Returns a problem if there is none.
 */
function capture(
  step: Step,
  { documents, headers }: Exchange,
  variables: Variables,
): string | undefined {
  for (const [name, path] of Object.entries(step.capture)) {
    const header = /^<header:(.+)>$/.exec(path)?.[1];
    const paths = path.split("|");
    const atPath = documents.flatMap(({ json }) =>
      paths.map((each) => valueAt(each, resultOf(json))),
    );
    const values = header === undefined ? atPath : [headers.get(header)];
    const value = values.find((found) => typeof found === "string");
    if (typeof value !== "string") {
      return `nothing came that has a string at ${path}`;
    }
    variables.set(name, value);
  }
  return undefined;
}

/**
 * Returns what is at a path of keys and list indexes, separated by dots; `\.` is
 * a dot in a key.
 */
function valueAt(path: string, value: unknown): unknown {
  return path
    .split(/(?<!\\)\./)
    .map((key) => key.replaceAll("\\.", "."))
    .reduce<unknown>(
      (inner, key) =>
        Array.isArray(inner) ? inner[Number(key)] : objectOrEmpty(inner)[key],
      value,
    );
}
