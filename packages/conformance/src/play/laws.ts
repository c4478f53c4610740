import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { listOrEmpty, objectOrEmpty } from "@devtool/internal/json";
import { EXTENSION_URI } from "@devtool/schema";
import type {
  Breach,
  Call,
  Exchange,
  ProtocolVersion,
} from "../binding/binding.ts";
import { preview } from "../match/match.ts";
import { callOrderProblem } from "./call-order.ts";
import { resultsOf } from "./expect.ts";

/** The methods of A2A 0.3 whose stream ends with a final update. */
const FINAL_METHODS: ReadonlySet<string> = new Set([
  "message/stream",
  "tasks/resubscribe",
  "command/execute",
]);

/** The methods of A2A 1.0 that return a stream. */
const STREAM_METHODS: ReadonlySet<string> = new Set([
  "SendStreamingMessage",
  "SubscribeToTask",
]);

/**
 * The fields of a stream's element in A2A 1.0, of which each element has one.
 */
const STREAM_FIELDS: ReadonlySet<string> = new Set([
  "task",
  "message",
  "statusUpdate",
  "artifactUpdate",
]);

/** The methods of both versions that send a message and return a stream. */
const SEND_METHODS: ReadonlySet<string> = new Set([
  "message/stream",
  "SendStreamingMessage",
]);

/**
 * Checks an exchange against the laws: the requirements that every exchange has
 * to meet, so that no case has to state them. Returns the breaches, starting
 * with those that the binding found.
 *
 * To add a law, write a function that returns the problem or undefined, and
 * list it with its requirement.
 */
export function lawBreaches(
  call: Call | undefined,
  exchange: Exchange,
  version: ProtocolVersion,
): readonly Breach[] {
  const frames = resultsOf(exchange.documents);
  const problems: readonly [requirement: string, reason: string | undefined][] =
    [
      ["TOOL-1", callOrderProblem(frames)],
      ["STREAM-2", unchangedStateProblem(call, frames)],
      ["A2A1-LIST", listOrderProblem(call, frames)],
      version === "0.3"
        ? ["STREAM-1", finalUpdateProblem(call, exchange)]
        : ["A2A1-STREAM-ORDER", streamOrderProblem(call, frames)],
    ];
  const found = problems.flatMap(([requirement, reason]) =>
    reason === undefined ? [] : [{ requirement, reason }],
  );
  return [...exchange.breaches, ...found];
}

/**
 * A2A 1.0 lists tasks by the time of their status, the newest first (section
 * 3.1.4). A status need not have a time.
 */
function listOrderProblem(
  call: Call | undefined,
  [result]: readonly JsonValue[],
): string | undefined {
  if (call?.method !== "ListTasks") return undefined;
  const times = listOrEmpty(objectOrEmpty(result).tasks)
    .map((task) => objectOrEmpty(objectOrEmpty(task).status).timestamp)
    .filter((time) => typeof time === "string");
  const early = times.findIndex(
    (time, index) => Date.parse(time) < Date.parse(times[index + 1] ?? ""),
  );
  return early < 0
    ? undefined
    : `tasks must be listed newest first: got ${times[early]} before ${times[early + 1]}`;
}

/**
 * In A2A 0.3 the last update of a stream that the server ends is final, and no
 * other is (section 7.2.2).
 */
function finalUpdateProblem(
  call: Call | undefined,
  { isWholeStream, documents }: Exchange,
): string | undefined {
  const updates = resultsOf(documents)
    .map(objectOrEmpty)
    .filter(({ kind }) => kind === "status-update");
  const early =
    call &&
    FINAL_METHODS.has(call.method) &&
    updates.slice(0, -1).find(({ final }) => final === true);
  if (early) {
    return `only the last update of a stream is final: got ${preview(early, 200)} before it`;
  }
  const last = updates.at(-1);
  if (!isWholeStream || !last || last.final === true) return undefined;
  return `the last update of a stream must be final: got ${preview(last, 200)}`;
}

/**
 * In A2A 1.0 a stream is one message, or a task and its updates, each in a
 * field of its own (section 3.1.2). A resumed stream starts anywhere.
 */
function streamOrderProblem(
  call: Call | undefined,
  frames: readonly JsonValue[],
): string | undefined {
  if (
    !call ||
    !STREAM_METHODS.has(call.method) ||
    call.headers["last-event-id"] !== undefined
  ) {
    return undefined;
  }
  const elements = frames.map((frame) =>
    Object.keys(objectOrEmpty(frame)).join("+"),
  );
  const unknown = elements.find((element) => !STREAM_FIELDS.has(element));
  if (unknown !== undefined) {
    return `an element of a stream must have one of ${[...STREAM_FIELDS].join(", ")}: got ${unknown}`;
  }
  const [first, ...rest] = elements;
  if (first === undefined) return undefined;
  if (first !== "task" && first !== "message") {
    return `a stream must begin with a task or a message: got ${first}`;
  }
  if (first === "message" && rest.length > 0) {
    return `nothing follows a message: got ${rest[0]}`;
  }
  return rest.includes("message")
    ? "no message comes in the stream of a task"
    : undefined;
}

/** A STATE_CHANGE must name another state than the frame before it. */
function unchangedStateProblem(
  call: Call | undefined,
  frames: readonly JsonValue[],
): string | undefined {
  if (!call || !SEND_METHODS.has(call.method)) return undefined;
  let before: JsonValue | undefined;
  for (const frame of frames.map(objectOrEmpty)) {
    const update: JsonObject = objectOrEmpty(
      frame.statusUpdate ?? frame.task ?? frame,
    );
    const { state } = objectOrEmpty(update.status);
    const isChange =
      objectOrEmpty(objectOrEmpty(update.metadata)[EXTENSION_URI]).kind ===
      "STATE_CHANGE";
    if (isChange && state === before) {
      return `a STATE_CHANGE must change the state: got ${preview(update, 200)} in the same state`;
    }
    before = state;
  }
  return undefined;
}
