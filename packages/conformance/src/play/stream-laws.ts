import type {
  Breach,
  Call,
  Exchange,
  ProtocolVersion,
} from "../binding/binding.ts";
import {
  hasEnded,
  readElement,
  type StreamElement,
} from "../binding/stream-end.ts";
import { preview } from "../match/match.ts";
import { resultsOf } from "./expect.ts";

/** The methods of both versions that return the stream of a task. */
const STREAM_METHODS: ReadonlySet<string> = new Set([
  "message/stream",
  "tasks/resubscribe",
  "SendStreamingMessage",
  "SubscribeToTask",
]);

/** The fields of an element of a stream in A2A 1.0: each has one of them. */
const STREAM_FIELDS: ReadonlySet<string> = new Set([
  "task",
  "message",
  "statusUpdate",
  "artifactUpdate",
]);

/**
 * Checks a stream against what holds for all of them: what they are made of,
 * and how they end (A2A 0.3 section 7.2; A2A 1.0 sections 3.1.2 and 11.7).
 */
export function streamBreaches(
  call: Call | undefined,
  { documents, open, isWholeStream }: Exchange,
  version: ProtocolVersion,
): readonly Breach[] {
  if (!call || !STREAM_METHODS.has(call.method)) return [];
  const elements = resultsOf(documents).map(readElement);
  const is03 = version === "0.3";
  const order = is03 ? "A2A03-STREAM" : "A2A1-STREAM-ORDER";
  const end = is03 ? "A2A03-STREAM" : "A2A1-STREAM-END";
  // A resumed stream starts anywhere.
  const isComplete = !is03 && call.headers["last-event-id"] === undefined;
  const isSubscribed = /subscribe/i.test(call.method);
  const subscription = is03 ? "A2A03-RESUBSCRIBE" : "A2A1-SUBSCRIBE";
  const problems: readonly [requirement: string, reason: string | undefined][] =
    [
      [
        isSubscribed ? subscription : order,
        isComplete && !open ? beginProblem(elements, documents) : undefined,
      ],
      [order, isComplete ? orderProblem(elements) : undefined],
      [order, otherTaskProblem(elements)],
      [is03 ? "STREAM-1" : end, afterEndProblem(elements, version)],
      [end, isWholeStream ? earlyEndProblem(elements, documents) : undefined],
      [
        isSubscribed && elements.length === 0
          ? subscription
          : !is03 && elements.at(-1)?.state.endsWith("-required")
            ? "A2A1-STREAM-PAUSE"
            : end,
        openProblem(elements, open),
      ],
    ];
  return problems.flatMap(([requirement, reason]) =>
    reason === undefined ? [] : [{ requirement, reason, endsCase: true }],
  );
}

/** In A2A 1.0 a stream begins with a task, or is one message. */
function beginProblem(
  [first]: readonly StreamElement[],
  documents: Exchange["documents"],
): string | undefined {
  const isError = documents.some(({ json }) => json.error !== undefined);
  if (isError || first?.name === "task" || first?.name === "message") {
    return undefined;
  }
  const got = first === undefined ? "nothing" : nameOf(first);
  return `a stream must begin with a task or a message: got ${got}`;
}

/** Up to its end, the stream of a task has only updates after the task. */
function orderProblem(elements: readonly StreamElement[]): string | undefined {
  const unknown = elements.find(({ name }) => !STREAM_FIELDS.has(name));
  if (unknown !== undefined) {
    return `an element of a stream must have one of ${[...STREAM_FIELDS].join(", ")}: got ${nameOf(unknown)}`;
  }
  const [first, ...rest] = elements;
  const end = rest.findIndex(hasEnded);
  const names = rest
    .slice(0, end < 0 ? rest.length : end)
    .map(({ name }) => name);
  if (first?.name === "message" && rest[0]) {
    return `nothing follows a message: got ${nameOf(rest[0])}`;
  }
  if (names.includes("message")) {
    return "no message comes in the stream of a task";
  }
  return names.includes("task")
    ? "a task comes once, before its updates: got a second one"
    : undefined;
}

function nameOf({ name, body }: StreamElement): string {
  return name === "" ? preview(body, 200) : name;
}

/** All elements of a stream are about one task of one context. */
function otherTaskProblem(
  elements: readonly StreamElement[],
): string | undefined {
  for (const field of ["taskId", "contextId"] as const) {
    const ids = elements.flatMap(({ name, body }) => {
      const id = name === "task" && field === "taskId" ? body.id : body[field];
      return typeof id === "string" ? [id] : [];
    });
    const [first] = ids;
    const other = ids.find((id) => id !== first);
    if (other !== undefined) {
      return `a stream has one ${field}: got ${preview(other)} after ${preview(first)}`;
    }
  }
  return undefined;
}

/** Nothing follows the end of a task but, in A2A 1.0, the whole task. */
function afterEndProblem(
  elements: readonly StreamElement[],
  version: ProtocolVersion,
): string | undefined {
  const end = elements.findIndex(
    (element) => element.name !== "task" && hasEnded(element),
  );
  if (end < 0) return undefined;
  const [next, ...others] = elements.slice(end + 1);
  const isSnapshot =
    next?.name === "task" && others.length === 0 && version === "1.0";
  if (next === undefined || isSnapshot) return undefined;
  return `nothing follows the end of a task: got ${nameOf(next)} after ${elements[end]?.state}`;
}

/** A stream goes on until its task has ended, or waits for the client. */
function earlyEndProblem(
  elements: readonly StreamElement[],
  documents: Exchange["documents"],
): string | undefined {
  const last = elements.at(-1);
  const isError = documents.some(({ json }) => json.error !== undefined);
  const isAtRest = elements.some(
    (element) =>
      element.name === "message" ||
      hasEnded(element) ||
      element.state.endsWith("-required"),
  );
  if (!last || isError || isAtRest) return undefined;
  return `the stream was closed before its task had ended: the last frame is ${preview({ [last.name]: last.body }, 200)}`;
}

function openProblem(
  elements: readonly StreamElement[],
  open: Exchange["open"],
): string | undefined {
  if (!open) return undefined;
  const { seconds, hasEnded: isAfterEnd } = open;
  const last = elements.at(-1);
  if (!last) {
    return `the stream is open and empty after ${seconds} s: it must begin with the task`;
  }
  const what = `${last.name} in the state ${last.state || "unknown"}`;
  return isAfterEnd
    ? `the stream is still open ${seconds} s after its last element (${what}): close it`
    : `the stream is still open after ${seconds} s, the time limit (--timeout), and its task has not ended: the last element is ${what}`;
}
