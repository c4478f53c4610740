import {
  create,
  type DescMessage,
  type JsonValue,
  type MessageShape,
} from "@bufbuild/protobuf";
import { ConnectError } from "@connectrpc/connect";
import { EXTENSION_URI, isTerminal, type TaskEvent } from "@devtool/schema";
import {
  A2AService,
  A2aTaskSchema,
  AgentCardSchema,
  decodeA2aJson,
  encodeA2aJson,
  missingFields,
  SendMessageResponseSchema,
  type StreamResponse,
  StreamResponseSchema,
  sendRequestFromA2a,
  streamResponseOf,
  taskToA2a,
} from "@devtool/schema/a2a-v1";
import {
  type HttpRequest,
  type HttpResponse,
  readBody,
} from "../loopback/http-server.ts";
import { type A2aCall, readCall } from "./a2a-v1-call.ts";
import { hasExtensionHeader } from "./extension-header.ts";
import type { Replay } from "./replay.ts";

/**
 * The interface of A2A 1.0 that a client must use, by its names in agent cards.
 */
export interface A2aInterface {
  readonly protocolVersion: "1.0";
  readonly binding: "JSONRPC" | "HTTP+JSON";
}

/**
 * Returns the card of the replay server in A2A 1.0.
 */
export function replayCardV1(
  url: string,
  { protocolVersion, binding }: A2aInterface,
): JsonValue {
  const card = create(AgentCardSchema, {
    name: "conformance",
    description: "Plays a recorded conversation.",
    version: "1",
    supportedInterfaces: [{ url, protocolVersion, protocolBinding: binding }],
    capabilities: {
      streaming: true,
      extensions: [{ uri: EXTENSION_URI, required: true }],
    },
    defaultInputModes: ["text/plain"],
    defaultOutputModes: ["text/plain"],
  });
  return encodeA2aJson(AgentCardSchema, card);
}

/**
 * Answers a request of A2A 1.0. Streams are server-sent events whose ids are
 * the sequences of the events. A request that is not a call over the interface
 * is a problem of the client and gets 404.
 */
export async function answerA2aV1(
  request: HttpRequest,
  response: HttpResponse,
  replay: Replay,
  over: A2aInterface,
): Promise<void> {
  const requestBody = await readBody(request);
  let call: A2aCall;
  try {
    call = readCall(request, requestBody, over.binding);
  } catch (reason) {
    const problem = reason instanceof Error ? reason.message : reason;
    replay.reject(
      `${request.method} ${request.url} is not a call of A2A 1.0 over ${over.binding}: ${problem}`,
    );
    response.statusCode = 404;
    return void response.end();
  }
  const answer = (status: number, body: string): void => {
    response.statusCode = status;
    response.setHeader("content-type", call.mediaType);
    response.end(body);
  };
  const closed = new AbortController();
  response.once("close", () => closed.abort());
  try {
    assertHeaders(request, replay);
    const elements = openStream(call, replay, closed.signal);
    if (elements) {
      await writeStream(response, elements, call);
    } else {
      answer(200, call.encodeResult(callMethod(call, replay)));
    }
  } catch (reason) {
    if (response.headersSent) return void response.end();
    const { status, body } = call.encodeError(
      ConnectError.from(reason).rawMessage,
    );
    answer(status, body);
  }
}

/**
 * Every request must name the version, by a header or in its query (section
 * 3.6), and the extension (CARD-3).
 */
function assertHeaders(request: HttpRequest, replay: Replay): void {
  const { headers, url = "" } = request;
  const version =
    headers["a2a-version"] ??
    new URL(url, "http://x").searchParams.get("A2A-Version") ??
    "";
  if (!/^1\.0(\.\d+)?$/.test(String(version).trim())) {
    throw replay.reject(
      `the header A2A-Version must be 1.0: got ${JSON.stringify(version)}`,
    );
  }
  if (!hasExtensionHeader(request)) {
    throw replay.reject(
      "the extension is not activated by the header A2A-Extensions",
    );
  }
}

/**
 * One element of a stream, with the sequence of its event as id.
 */
interface StreamElement {
  readonly response: StreamResponse;
  readonly id: bigint;
}

/**
 * Returns the elements of a method that streams. Undefined for other methods.
 */
function openStream(
  call: A2aCall,
  replay: Replay,
  signal: AbortSignal,
): AsyncIterable<StreamElement> | undefined {
  const { sendStreamingMessage, subscribeToTask } = A2AService.method;
  if (call.method === sendStreamingMessage) {
    const request = readRequest(call, sendStreamingMessage.input, replay);
    return exchangeElements(
      replay,
      replay.acceptMessage(sendRequestFromA2a(request)),
    );
  }
  if (call.method !== subscribeToTask) return undefined;
  const { id } = readRequest(call, subscribeToTask.input, replay);
  const { state } = replay.task(id);
  if (call.lastEventId !== undefined) {
    return laterElements(replay, BigInt(call.lastEventId), signal);
  }
  if (replay.isOver && isTerminal(state)) {
    throw replay.reject(`task ${JSON.stringify(id)} has ended: get it`);
  }
  return subscriptionElements(replay, signal);
}

/**
 * An exchange starts with the task as its first event left it (section 3.1.2).
 */
async function* exchangeElements(
  replay: Replay,
  after: bigint,
): AsyncIterable<StreamElement> {
  for (const event of replay.exchange(after)) {
    if (event.sequence === after + 1n) {
      yield snapshot(replay, event.sequence);
    } else {
      yield* elementsFrom(event, replay);
    }
  }
}

/** Yields the events after a sequence. */
async function* laterElements(
  replay: Replay,
  after: bigint,
  signal: AbortSignal,
): AsyncIterable<StreamElement> {
  for await (const event of replay.follow(after, signal)) {
    yield* elementsFrom(event, replay);
  }
}

/** Yields the task as it is now, and then the events after it. */
async function* subscriptionElements(
  replay: Replay,
  signal: AbortSignal,
): AsyncIterable<StreamElement> {
  const last = BigInt(replay.log.length);
  yield snapshot(replay, last);
  yield* laterElements(replay, last, signal);
}

function snapshot(replay: Replay, sequence: bigint): StreamElement {
  replay.markSnapshot(sequence);
  const value = taskToA2a(replay.taskAt(sequence));
  return {
    response: create(StreamResponseSchema, {
      payload: { case: "task", value },
    }),
    id: sequence,
  };
}

function elementsFrom(event: TaskEvent, replay: Replay): StreamElement[] {
  const response = streamResponseOf(event, "extension");
  if (!response) replay.markHidden(event);
  return response ? [{ response, id: event.sequence }] : [];
}

function callMethod(call: A2aCall, replay: Replay): JsonValue {
  const { sendMessage, getTask } = A2AService.method;
  if (call.method === sendMessage) {
    replay.acceptMessage(
      sendRequestFromA2a(readRequest(call, sendMessage.input, replay)),
    );
    const value = taskToA2a(replay.task(replay.log[0]?.taskId ?? ""));
    const response = create(SendMessageResponseSchema, {
      payload: { case: "task", value },
    });
    return encodeA2aJson(SendMessageResponseSchema, response);
  }
  if (call.method !== getTask) {
    throw replay.reject(
      `method ${JSON.stringify(call.method.name)} is not served here`,
    );
  }
  return encodeA2aJson(
    A2aTaskSchema,
    taskToA2a(replay.task(readRequest(call, getTask.input, replay).id)),
  );
}

/**
 * Decodes a request. One that ProtoJSON or the standard does not allow is a
 * problem of the client.
 */
function readRequest<D extends DescMessage>(
  { json }: A2aCall,
  schema: D,
  replay: Replay,
): MessageShape<D> {
  try {
    const request = decodeA2aJson(schema, json);
    const [missing] = missingFields(schema, request);
    if (missing === undefined) return request;
    throw new Error(`${missing.field} ${missing.description}`);
  } catch (reason) {
    throw replay.reject(
      `${schema.name} is not valid: ${reason instanceof Error ? reason.message : reason}`,
    );
  }
}

async function writeStream(
  response: HttpResponse,
  elements: AsyncIterable<StreamElement>,
  call: A2aCall,
): Promise<void> {
  response.setHeader("content-type", "text/event-stream");
  // The two versions of HTTP have overloads of `write` that TypeScript cannot
  // unite.
  const writable: { write(text: string): boolean } = response;
  for await (const { response: element, id } of elements) {
    const data = call.encodeResult(
      encodeA2aJson(StreamResponseSchema, element),
    );
    writable.write(`id: ${id}\ndata: ${data}\n\n`);
  }
  response.end();
}
