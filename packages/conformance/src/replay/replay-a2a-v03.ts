import type { IncomingMessage, ServerResponse } from "node:http";
import { fromJson, type JsonValue, toJson } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
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
import { readBody } from "../loopback/http-server.ts";
import { hasExtensionHeader } from "./extension-header.ts";
import type { Replay } from "./replay.ts";

/**
 * Returns the card of the replay server in A2A 0.3.
 */
export function replayCardV03(url: string): JsonValue {
  const card = fromJson(AgentCardSchema, {
    protocolVersion: "0.3.0",
    name: "conformance",
    description: "Plays a recorded conversation.",
    version: "1",
    url: `${url}/`,
    preferredTransport: "JSONRPC",
    capabilities: { streaming: true, extensions: [{ uri: EXTENSION_URI, required: true }] },
    defaultInputModes: ["text/plain"],
    defaultOutputModes: ["text/plain"],
  });
  return toJson(AgentCardSchema, card);
}

/**
 * Answers a request of A2A 0.3 over JSON-RPC. Streams are server-sent events whose ids are the
 * sequences of the events.
 */
export async function answerA2aV03(request: IncomingMessage, response: ServerResponse, replay: Replay): Promise<void> {
  const rpc = decodeJsonRpcRequest(JSON.parse(await readBody(request)));
  const id = rpc.id ? toJson(ValueSchema, rpc.id) : null;
  const call = {
    method: rpc.method,
    params: rpc.params && toJson(ValueSchema, rpc.params),
    lastEventId: String(request.headers["last-event-id"] ?? "0"),
  };
  const closed = new AbortController();
  response.once("close", () => closed.abort());
  const answer = (outcome: object): void => {
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ jsonrpc: "2.0", id, ...outcome }));
  };
  try {
    if (!hasExtensionHeader(request)) {
      throw replay.reject("the extension is not activated by the header X-A2A-Extensions");
    }
    const events = openStream(call, replay, closed.signal);
    if (events) await writeStream(response, events, id, replay);
    else answer({ result: callMethod(call, replay) });
  } catch (reason) {
    const { rawMessage: message } = ConnectError.from(reason);
    if (!response.headersSent) answer({ error: { code: JsonRpcCode.INVALID_PARAMS, message } });
  }
}

interface RpcCall {
  readonly method: string;
  readonly params: JsonValue | undefined;
  readonly lastEventId: string;
}

/**
 * Returns the events of a method that streams. Undefined for other methods.
 */
function openStream(
  { method, params, lastEventId }: RpcCall,
  replay: Replay,
  signal: AbortSignal,
): AsyncIterable<TaskEvent> | Iterable<TaskEvent> | undefined {
  if (method === "message/stream") return replay.exchange(replay.acceptMessage(decodeMessageSend(params).request));
  if (method !== "tasks/resubscribe") return undefined;
  replay.task(decodeTaskId(params));
  return replay.follow(BigInt(lastEventId), signal);
}

/**
 * Calls a method that returns one result.
 */
function callMethod({ method, params }: RpcCall, replay: Replay): JsonValue {
  if (method === "message/send") {
    replay.acceptMessage(decodeMessageSend(params).request);
    return encodeTask(replay.task(replay.log[0]?.taskId ?? ""), { view: "extension" });
  }
  if (method === "tasks/get") return encodeTask(replay.task(decodeTaskQuery(params).taskId), { view: "extension" });
  throw replay.reject(`method ${JSON.stringify(method)} is not served here`);
}

async function writeStream(
  response: ServerResponse,
  events: AsyncIterable<TaskEvent> | Iterable<TaskEvent>,
  id: JsonValue,
  replay: Replay,
): Promise<void> {
  response.setHeader("content-type", "text/event-stream");
  for await (const event of events) {
    const result = encodeStreamFrame(event, "extension");
    if (result === undefined) {
      replay.markHidden(event);
      continue;
    }
    const data = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}`;
    response.write(`id: ${event.sequence}\ndata: ${data}\n\n`);
  }
  response.end();
}
