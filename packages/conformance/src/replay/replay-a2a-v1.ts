import { create, type DescMessage, type JsonValue, type MessageShape } from "@bufbuild/protobuf";
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
import { type A2aCall, readCall } from "./a2a-v1-call.ts";
import { activates, type HttpRequest, type HttpResponse, textOf } from "./http.ts";
import type { Replay } from "./replay.ts";

/** The interface of A2A 1.0 that a client must speak, as agent cards name it. */
export interface A2aInterface {
  readonly protocolVersion: "1.0";
  readonly binding: "JSONRPC" | "HTTP+JSON";
}

/** The card of the server that the runner plays, in A2A 1.0. */
export function replayCardV1(url: string, { protocolVersion, binding }: A2aInterface): JsonValue {
  const card = create(AgentCardSchema, {
    name: "conformance",
    description: "Plays a conversation that was recorded.",
    version: "1",
    supportedInterfaces: [{ url, protocolVersion, protocolBinding: binding }],
    capabilities: { streaming: true, extensions: [{ uri: EXTENSION_URI, required: true }] },
    defaultInputModes: ["text/plain"],
    defaultOutputModes: ["text/plain"],
  });
  return encodeA2aJson(AgentCardSchema, card);
}

/** What is played, and how the client must speak. */
export interface A2aPlay {
  readonly replay: Replay;
  readonly over: A2aInterface;
}

/** Answers a request of A2A 1.0, streams as server-sent events with the sequences as their ids. Anything else is refused. */
export async function answerA2aV1(request: HttpRequest, response: HttpResponse, play: A2aPlay): Promise<void> {
  const { replay } = play;
  const call = callIn(request, await textOf(request), play);
  if (!call) {
    response.statusCode = 404;
    return void response.end();
  }
  const gone = new AbortController();
  response.once("close", () => gone.abort());
  try {
    assertActivated(request, replay);
    const frames = streamOf(call, replay, gone.signal);
    if (frames) await stream(response, { frames, call });
    else answer(response, 200, { type: call.mediaType, body: call.result(resultOf(call, replay)) });
  } catch (reason) {
    const { rawMessage } = ConnectError.from(reason);
    const { status, body } = call.error(rawMessage);
    if (!response.headersSent) answer(response, status, { type: call.mediaType, body });
    else response.end();
  }
}

/** The call that a request is; one that is none in this interface is noted. */
function callIn(request: HttpRequest, body: string, { replay, over }: A2aPlay): A2aCall | undefined {
  try {
    return readCall(request, body, over.binding);
  } catch (reason) {
    const what = reason instanceof Error ? reason.message : reason;
    replay.refused(`${request.method} ${request.url} is no call of A2A 1.0 over ${over.binding}: ${what}`);
    return undefined;
  }
}

/** Each request names the version, by a header or in its query (section 3.6), and the extension (CARD-3). */
function assertActivated(request: HttpRequest, replay: Replay): void {
  const { headers, url = "" } = request;
  const version = headers["a2a-version"] ?? new URL(url, "http://x").searchParams.get("A2A-Version") ?? "";
  if (!/^1\.0(\.\d+)?$/.test(String(version).trim()))
    throw replay.refused(`the header A2A-Version must be 1.0: got ${JSON.stringify(version)}`);
  if (!activates(request)) throw replay.refused("the extension is not activated by the header A2A-Extensions");
}

/** One element of a stream, and its id. */
interface Frame {
  readonly response: StreamResponse;
  readonly id: bigint;
}

/** The elements that a method streams; undefined for one that answers at once. */
function streamOf(call: A2aCall, replay: Replay, signal: AbortSignal): AsyncIterable<Frame> | undefined {
  const { sendStreamingMessage, subscribeToTask } = A2AService.method;
  if (call.method === sendStreamingMessage) {
    const after = replay.take(sendRequestFromA2a(requestIn(call, sendStreamingMessage.input, replay)));
    return exchangeFrames(replay, after);
  }
  if (call.method !== subscribeToTask) return undefined;
  const { id } = requestIn(call, subscribeToTask.input, replay);
  const { state } = replay.task(id);
  if (call.lastEventId !== undefined) return followFrames(replay, BigInt(call.lastEventId), signal);
  if (replay.isOver && isTerminal(state)) throw replay.refused(`task ${JSON.stringify(id)} has ended: get it`);
  return openFrames(replay, signal);
}

/** An exchange begins with the task as its first event left it (section 3.1.2). */
async function* exchangeFrames(replay: Replay, after: bigint): AsyncIterable<Frame> {
  for (const event of replay.exchange(after))
    yield* event.sequence === after + 1n ? [snapshot(replay, event.sequence)] : framesOf(event, replay);
}

/** All that follows an event. */
async function* followFrames(replay: Replay, after: bigint, signal: AbortSignal): AsyncIterable<Frame> {
  for await (const event of replay.follow(after, signal)) yield* framesOf(event, replay);
}

/** The task as it is, and all that follows. */
async function* openFrames(replay: Replay, signal: AbortSignal): AsyncIterable<Frame> {
  const head = BigInt(replay.log.length);
  yield snapshot(replay, head);
  yield* followFrames(replay, head, signal);
}

function snapshot(replay: Replay, sequence: bigint): Frame {
  replay.showWhole(sequence);
  const value = taskToA2a(replay.taskAt(sequence));
  return { response: create(StreamResponseSchema, { payload: { case: "task", value } }), id: sequence };
}

function framesOf(event: TaskEvent, replay: Replay): Frame[] {
  const response = streamResponseOf(event, "extension");
  if (!response) replay.hide(event);
  return response ? [{ response, id: event.sequence }] : [];
}

function resultOf(call: A2aCall, replay: Replay): JsonValue {
  const { sendMessage, getTask } = A2AService.method;
  if (call.method === sendMessage) {
    replay.take(sendRequestFromA2a(requestIn(call, sendMessage.input, replay)));
    const value = taskToA2a(replay.task(replay.log[0]?.taskId ?? ""));
    const answered = create(SendMessageResponseSchema, { payload: { case: "task", value } });
    return encodeA2aJson(SendMessageResponseSchema, answered);
  }
  if (call.method !== getTask) throw replay.refused(`method ${JSON.stringify(call.method.name)} is not served here`);
  return encodeA2aJson(A2aTaskSchema, taskToA2a(replay.task(requestIn(call, getTask.input, replay).id)));
}

/** What was asked. What ProtoJSON or the standard does not allow is told to the client, and noted. */
function requestIn<D extends DescMessage>({ json }: A2aCall, schema: D, replay: Replay): MessageShape<D> {
  try {
    const request = decodeA2aJson(schema, json);
    const [missing] = missingFields(schema, request);
    if (missing === undefined) return request;
    throw new Error(`${missing.field} ${missing.description}`);
  } catch (reason) {
    throw replay.refused(`${schema.name} cannot be taken: ${reason instanceof Error ? reason.message : reason}`);
  }
}

async function stream(
  response: HttpResponse,
  { frames, call }: { readonly frames: AsyncIterable<Frame>; readonly call: A2aCall },
): Promise<void> {
  response.setHeader("content-type", "text/event-stream");
  for await (const { response: element, id } of frames) {
    const data = call.result(encodeA2aJson(StreamResponseSchema, element));
    write(response, `id: ${id}\ndata: ${data}\n\n`);
  }
  response.end();
}

/** The two versions of HTTP have one method each, with one meaning. */
function write(response: { write(text: string): boolean }, piece: string): void {
  response.write(piece);
}

function answer(
  response: HttpResponse,
  status: number,
  { type, body }: { readonly type: string; readonly body: string },
): void {
  response.statusCode = status;
  response.setHeader("content-type", type);
  response.end(body);
}
