import type { IncomingMessage, ServerResponse } from "node:http";
import { fromJson, type JsonValue, toJson } from "@bufbuild/protobuf";
import { type Value, ValueSchema } from "@bufbuild/protobuf/wkt";
import { ConnectError } from "@connectrpc/connect";
import { EXTENSION_URI, type TaskEvent } from "@devtool/schema";
import {
  AgentCardSchema,
  decodeJsonRpcRequest,
  decodeMessageSend,
  decodeTaskId,
  decodeTaskQuery,
  encodeStreamFrame,
  encodeTask,
  JsonRpcCode,
} from "@devtool/schema/a2a-v03";
import { activates, textOf } from "./http.ts";
import type { Replay } from "./replay.ts";

/** The card of the server that the runner plays, in A2A 0.3. */
export function replayCard(url: string): JsonValue {
  const card = fromJson(AgentCardSchema, {
    protocolVersion: "0.3.0",
    name: "conformance",
    description: "Plays a conversation that was recorded.",
    version: "1",
    url: `${url}/`,
    preferredTransport: "JSONRPC",
    capabilities: { streaming: true, extensions: [{ uri: EXTENSION_URI, required: true }] },
    defaultInputModes: ["text/plain"],
    defaultOutputModes: ["text/plain"],
  });
  return toJson(AgentCardSchema, card);
}

/** Answers a request of A2A 0.3 over JSON-RPC, streams as server-sent events with the sequences as their ids. */
export async function answerA2aV03(request: IncomingMessage, response: ServerResponse, replay: Replay): Promise<void> {
  const rpc = decodeJsonRpcRequest(JSON.parse(await textOf(request)));
  const call: Call = { method: rpc.method, params: jsonOf(rpc.params), request, response };
  const id = jsonOf(rpc.id) ?? null;
  try {
    if (!activates(request)) throw replay.refused("the extension is not activated by the header X-A2A-Extensions");
    const events = streamOf(call, replay);
    if (events) await stream(response, shown(events, replay), id);
    else answer(response, { id, result: resultOf(call, replay) });
  } catch (reason) {
    const { rawMessage: message } = ConnectError.from(reason);
    if (!response.headersSent) answer(response, { id, error: { code: JsonRpcCode.INVALID_PARAMS, message } });
  }
}

function answer(response: ServerResponse, body: object): void {
  response.setHeader("content-type", "application/json");
  response.end(JSON.stringify({ jsonrpc: "2.0", ...body }));
}

function jsonOf(value: Value | undefined): JsonValue | undefined {
  return value && toJson(ValueSchema, value);
}

interface Call {
  readonly method: string;
  readonly params: JsonValue | undefined;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** The events that a method streams; undefined for one that answers at once. */
function streamOf({ method, params, request, response }: Call, replay: Replay): AsyncIterable<TaskEvent> | undefined {
  if (method === "message/stream") return asynchronous(replay.exchange(replay.take(decodeMessageSend(params).request)));
  if (method !== "tasks/resubscribe") return undefined;
  replay.task(decodeTaskId(params));
  const gone = new AbortController();
  response.once("close", () => gone.abort());
  return replay.follow(BigInt(String(request.headers["last-event-id"] ?? "0")), gone.signal);
}

async function* asynchronous(events: Iterable<TaskEvent>): AsyncIterable<TaskEvent> {
  yield* events;
}

function resultOf({ method, params }: Call, replay: Replay): JsonValue {
  if (method === "message/send") {
    replay.take(decodeMessageSend(params).request);
    return encodeTask(replay.task(replay.log[0]?.taskId ?? ""), { view: "extension" });
  }
  if (method === "tasks/get") return encodeTask(replay.task(decodeTaskQuery(params).taskId), { view: "extension" });
  throw replay.refused(`method ${JSON.stringify(method)} is not served here`);
}

/** The frames of events with their sequences; what has none is noted. */
async function* shown(
  events: AsyncIterable<TaskEvent>,
  replay: Replay,
): AsyncIterable<{ readonly sequence: bigint; readonly result: string }> {
  for await (const event of events) {
    const result = encodeStreamFrame(event, "extension");
    if (result === undefined) replay.hide(event);
    else yield { sequence: event.sequence, result };
  }
}

async function stream(response: ServerResponse, frames: ReturnType<typeof shown>, id: JsonValue): Promise<void> {
  response.setHeader("content-type", "text/event-stream");
  for await (const { sequence, result } of frames) {
    response.write(`id: ${sequence}\ndata: {"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}\n\n`);
  }
  response.end();
}
