import type { JsonValue } from "@bufbuild/protobuf";
import { EXTENSION_URI } from "@devtool/schema";
import type { Breach, Call, Exchange, ProtocolVersion } from "./binding/binding.ts";
import { disorderedCall } from "./call-order.ts";
import { resultsOf } from "./expect.ts";
import { fieldsOf } from "./json-fields.ts";

/** What holds for every exchange, so that no case needs to ask for it; those of the binding itself are in the exchange. */
export function breachesOf(call: Call | undefined, exchange: Exchange, version: ProtocolVersion): readonly Breach[] {
  const frames = resultsOf(exchange.documents);
  const order = disorderedCall(frames);
  const change = unchangedState(call, frames);
  const ends = version === "0.3" ? finalProblem(call, exchange) : orderProblem(call, frames);
  return [
    ...exchange.breaches,
    ...(order === undefined ? [] : [{ requirement: "TOOL-1", reason: order }]),
    ...(change === undefined ? [] : [{ requirement: "STREAM-2", reason: change }]),
    ...(ends === undefined ? [] : [{ requirement: ENDS[version], reason: ends }]),
  ];
}

const ENDS: Readonly<Record<ProtocolVersion, string>> = { "0.3": "STREAM-1", "1.0": "A2A1-STREAM-ORDER" };

/** In A2A 0.3 the last update of a stream that the server ends is final, and no other is (section 7.2.2). */
function finalProblem(call: Call | undefined, { isWholeStream, documents }: Exchange): string | undefined {
  const updates = resultsOf(documents)
    .map(fieldsOf)
    .filter(({ kind }) => kind === "status-update");
  const early = call && ENDING.has(call.method) && updates.slice(0, -1).find(({ final }) => final === true);
  if (early) return `only the last update of a stream is final: got ${JSON.stringify(early).slice(0, 200)} before it`;
  const last = updates.at(-1);
  if (!isWholeStream || !last || last.final === true) return undefined;
  return `the last update of a stream must be final: got ${JSON.stringify(last).slice(0, 200)}`;
}

const ENDING: ReadonlySet<string> = new Set(["message/stream", "tasks/resubscribe", "command/execute"]);

/** In A2A 1.0 a stream is one message, or a task and its updates, each in one field (section 3.1.2). */
function orderProblem(call: Call | undefined, frames: readonly JsonValue[]): string | undefined {
  if (!call || !STREAMING.has(call.method) || call.headers["last-event-id"] !== undefined) return undefined;
  const kinds = frames.map((frame) => Object.keys(fieldsOf(frame)).join("+"));
  const strange = kinds.find((kind) => !KINDS.has(kind));
  if (strange !== undefined) return `an element of a stream must have one of ${[...KINDS].join(", ")}: got ${strange}`;
  const [first, ...rest] = kinds;
  if (first === undefined) return undefined;
  if (first !== "task" && first !== "message") return `a stream must begin with a task or a message: got ${first}`;
  if (first === "message" && rest.length > 0) return `nothing follows a message: got ${rest[0]}`;
  return rest.includes("message") ? "no message comes in the stream of a task" : undefined;
}

/** A STATE_CHANGE of an exchange moves its task to another state than the frame before it was in. */
function unchangedState(call: Call | undefined, frames: readonly JsonValue[]): string | undefined {
  if (!call || !SENDING.has(call.method)) return undefined;
  const seen = frames.map(fieldsOf).map((frame) => fieldsOf(frame.statusUpdate ?? frame.task ?? frame));
  const odd = seen.find((frame, index) => {
    const isChange = fieldsOf(fieldsOf(frame.metadata)[EXTENSION_URI]).kind === "STATE_CHANGE";
    return isChange && stateOf(frame) === stateOf(seen[index - 1]);
  });
  return odd && `a STATE_CHANGE must change the state: got ${JSON.stringify(odd).slice(0, 200)} in the same state`;
}

function stateOf(frame: ReturnType<typeof fieldsOf> | undefined): JsonValue | undefined {
  return fieldsOf(frame?.status).state;
}

const SENDING: ReadonlySet<string> = new Set(["message/stream", "SendStreamingMessage"]);
const STREAMING: ReadonlySet<string> = new Set(["SendStreamingMessage", "SubscribeToTask"]);
const KINDS: ReadonlySet<string> = new Set(["task", "message", "statusUpdate", "artifactUpdate"]);
