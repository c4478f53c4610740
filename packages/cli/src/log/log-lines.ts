import type { LogLine } from "@devtool/schema/operator";
import { DevtoolError, type Operation } from "@devtool/server";
import type { OperationEnd } from "@devtool/server/agent";
import { clientProblem, withoutContent } from "./problem.ts";

/** How important a line is. */
export type Level = "debug" | "info" | "warn" | "error";

/** The fields of a line. */
type Fields = Partial<Omit<LogLine, "$typeName" | "$unknown" | "time">>;

/** A line, before it has a time. */
export interface Line extends Fields {
  readonly event: string;
  readonly level: Level;
}

/** A line of what has happened, and how it is counted when it is repeated. */
export interface Entry {
  readonly line: Line;
  /** Lines with the same key are counted. Undefined: each is written. */
  readonly key?: string;
}

/** Methods that change nothing, which clients call again and again. */
const READS = /^(Get|List|Watch|Subscribe)/;

/** The codes of errors that are not the client's fault. */
const FAULTS: ReadonlySet<string> = new Set([
  "unknown",
  "internal",
  "unavailable",
  "data_loss",
]);

/** The codes of what a caller may not do. */
const REFUSALS: ReadonlySet<string> = new Set([
  "unauthenticated",
  "permission_denied",
]);

/** Whose lines may be of any level: a warning where one fails. */
const KINDS = ["request", "turn", "post", "takeover", "outage"] as const;

/** Whose lines are for who looks for a fault. */
const DEBUG_KINDS = ["step", "call", "question"] as const;

/**
 * Returns the kinds of operations that may have lines at a level. Appends have
 * none: there is one for each event of a stream, and that the store fails is a
 * notice.
 */
export function kindsAt(level: Level): ReadonlySet<Operation["kind"]> {
  return new Set(level === "debug" ? [...KINDS, ...DEBUG_KINDS] : KINDS);
}

/** Returns the line of an operation that begins, if it has one. */
export function beginLine(operation: Operation): Line | undefined {
  const { kind } = operation;
  if (kind === "turn") {
    return { ...subjectOf(operation), event: "turn begins", level: "info" };
  }
  if (kind !== "outage") return undefined;
  return { event: "not ready", level: "error", problem: operation.name };
}

/**
 * Returns the line of an operation that has ended.
 *
 * @param durationMs how long it took, in milliseconds
 */
export function endEntry(
  operation: Operation,
  end: OperationEnd,
  durationMs: number,
): Entry {
  const took = { durationMs: Math.round(durationMs * 10) / 10 };
  if (operation.kind === "outage") {
    return { line: { event: "ready", level: "info", ...took } };
  }
  const line: Line = {
    ...subjectOf(operation),
    event: operation.kind === "turn" ? "turn ends" : operation.kind,
    level: "debug",
    outcome: end.outcome,
    ...took,
  };
  const failure =
    end.outcome === "failed" ? failureOf(operation, end.error) : undefined;
  switch (operation.kind) {
    case "request":
      return requestEntry(operation, line, failure);
    case "turn":
      return {
        line: { ...line, ...failure, level: failure ? "warn" : "info" },
      };
    case "post":
      return failure
        ? {
            line: { ...line, ...failure, level: "warn" },
            key: `post ${operation.name}`,
          }
        : { line };
    case "takeover":
      return {
        line: {
          ...line,
          ...failure,
          level: end.outcome === "succeeded" ? "info" : "debug",
        },
      };
    default:
      return { line: { ...line, ...failure } };
  }
}

function requestEntry(
  { name, binding, peer, principal }: Operation,
  line: Line,
  failure: ReturnType<typeof failureOf> | undefined,
): Entry {
  const isQuiet = binding === "http" || READS.test(name);
  if (!failure) return { line: { ...line, level: isQuiet ? "debug" : "info" } };
  const { code, problem } = failure;
  const isUnreached = binding === "http" && !FAULTS.has(code);
  if (REFUSALS.has(code) || isUnreached) {
    return {
      line: { ...line, ...failure, event: "refused", level: "warn" },
      // A stranger must not write a line for each path.
      key: `refused ${code} ${binding} ${peer} ${principal} ${peer === "" ? name : ""}`,
    };
  }
  // A probe that fails is an outage, which has a line of its own.
  if (FAULTS.has(code) && (binding !== "http" || peer === "")) {
    return {
      line: { ...line, ...failure, level: "warn" },
      key: `request ${code} ${problem}`,
    };
  }
  return { line: { ...line, ...failure, level: isQuiet ? "debug" : "info" } };
}

/** Returns what a line says of a failure. */
function failureOf(
  { kind, binding, peer }: Operation,
  error: unknown,
): { readonly code: string; readonly problem: string } {
  // Of such a request nothing was read but its head: the operator sees which
  // host or origin is refused.
  if (binding === "http" && peer !== "" && error instanceof DevtoolError) {
    return { ...clientProblem(error), problem: error.message };
  }
  // A result of a tool is content.
  if (kind === "call") return { code: "", problem: "" };
  if (kind === "post")
    return { code: "", problem: withoutContent(String(error)) };
  return clientProblem(error);
}

/** Returns the fields that say what an operation is and whose. */
function subjectOf({
  kind,
  name,
  binding,
  peer,
  principal,
  taskId,
  subjectId,
  traceContext,
}: Operation): Fields {
  // Of `00-TRACE-SPAN-FLAGS`.
  const traceId = traceContext?.traceparent.slice(3, 35) ?? "";
  const whose = { principal, taskId, traceId };
  switch (kind) {
    case "request":
      return { ...whose, method: name, binding, peer, messageId: subjectId };
    case "turn":
      return { ...whose, agent: name, messageId: subjectId };
    case "step":
      return { ...whose, model: name };
    case "call":
    case "question":
      return { ...whose, tool: name, callId: subjectId };
    case "post":
      return { ...whose, webhook: name };
    case "append":
    case "takeover":
    case "outage":
      return whose;
    default:
      return kind satisfies never;
  }
}
