import type { IncomingMessage, ServerResponse } from "node:http";
import { fromJson, type JsonValue, toJson } from "@bufbuild/protobuf";
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
    capabilities: {
      streaming: true,
      extensions: [{ uri: EXTENSION_URI, required: true }],
    },
    defaultInputModes: ["text/plain"],
    defaultOutputModes: ["text/plain"],
  });
  return toJson(AgentCardSchema, card);
}

/**
 * Answers a request of A2A 0.3 over JSON-RPC. Streams are server-sent events
 * whose ids are the sequences of the events.
 */
export async function answerA2aV03(
  request: IncomingMessage,
  response: ServerResponse,
  replay: Replay,
): Promise<void> {
  const rpc = decodeJsonRpcRequest(JSON.parse(await readBody(request)));
  const id = rpc.id ?? null;
  const call = {
    method: rpc.method,
    params: rpc.params,
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
      throw replay.reject(
        "the extension is not activated by the header X-A2A-Extensions",
      );
    }
    const played = playCall(call, replay, closed.signal);
    if ("events" in played) {
      await writeStream(response, played.events, id, replay);
    } else {
      answer(played);
    }
  } catch (reason) {
    const { rawMessage: message } = ConnectError.from(reason);
    if (!response.headersSent) {
      answer({ error: { code: JsonRpcCode.INVALID_PARAMS, message } });
    }
  }
}

interface RpcCall {
  readonly method: string;
  readonly params: JsonValue | undefined;
  readonly lastEventId: string;
}

type TaskEvents = AsyncIterable<TaskEvent> | Iterable<TaskEvent>;

/**
 * Returns the result of a call, or the events if its method streams.
 */
function playCall(
  { method, params, lastEventId }: RpcCall,
  replay: Replay,
  signal: AbortSignal,
): { readonly result: JsonValue } | { readonly events: TaskEvents } {
  switch (method) {
    case "message/send":
      replay.acceptMessage(decodeMessageSend(params).request);
      return {
        result: encodeTask(replay.task(replay.log[0]?.taskId ?? ""), {
          view: "extension",
        }),
      };
    case "message/stream":
      return {
        events: replay.exchange(
          replay.acceptMessage(decodeMessageSend(params).request),
        ),
      };
    case "tasks/get":
      return {
        result: encodeTask(replay.task(decodeTaskQuery(params).taskId), {
          view: "extension",
        }),
      };
    case "tasks/resubscribe":
      replay.task(decodeTaskId(params));
      return { events: replay.follow(BigInt(lastEventId), signal) };
    default:
      throw replay.reject(
        `method ${JSON.stringify(method)} is not served here`,
      );
  }
}

async function writeStream(
  response: ServerResponse,
  events: TaskEvents,
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
