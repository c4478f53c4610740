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
import { streamBreaches } from "./stream-laws.ts";

/** The methods of A2A 0.3 whose stream ends with a final update. */
const FINAL_METHODS: ReadonlySet<string> = new Set([
  "message/stream",
  "tasks/resubscribe",
  "command/execute",
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
  const { breaches } = exchange;
  if (breaches.some(({ endsCase }) => endsCase)) return breaches;
  const frames = resultsOf(exchange.documents);
  const problems: readonly [requirement: string, reason: string | undefined][] =
    [
      ["TOOL-1", callOrderProblem(frames)],
      ["STREAM-2", unchangedStateProblem(call, frames)],
      ["A2A1-LIST", listOrderProblem(call, frames)],
      [
        "STREAM-1",
        version === "0.3" ? finalUpdateProblem(call, exchange) : undefined,
      ],
    ];
  const found = problems.flatMap(([requirement, reason]) =>
    reason === undefined ? [] : [{ requirement, reason }],
  );
  const ofStream = streamBreaches(call, exchange, version);
  return [...breaches, ...ofStream, ...found];
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
