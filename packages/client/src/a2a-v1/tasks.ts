import { create, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import { defined, objectOrEmpty } from "@devtool/internal/json";
import {
  type ListTasksRequest,
  type ListTasksResponse,
  ListTasksResponseSchema,
  WireError,
} from "@devtool/schema";
import {
  A2AService,
  A2aTaskSchema,
  A2aTaskState,
  decodeA2aJson,
  frameFromA2a,
  MessageQueueService,
  StreamResponseSchema,
  sendRequestToA2a,
  stateFromA2a,
  stateToA2a,
} from "@devtool/schema/a2a-v1";
import { decodeReadable } from "../a2a/decode-readable.ts";
import { rowsOf } from "../a2a/plain-list.ts";
import type { Answer, Frame } from "../a2a/rpc-endpoint.ts";
import { continueInNewTask, type TaskCalls } from "../a2a/task-calls.ts";
import { unreadableAnswer } from "../a2a/wire.ts";
import type { A2aBinding } from "./binding.ts";

/**
 * The task methods of A2A 1.0. An empty tenant is none.
 */
export function taskCallsV1(binding: A2aBinding, tenant: string): TaskCalls {
  const { method } = A2AService;
  return {
    redirect: continueInNewTask,
    async send(request, signal) {
      const sent = { ...sendRequestToA2a(request), tenant };
      const json = await binding.call(method.sendMessage, sent, signal);
      return readAnswer(json, (answer) =>
        frameFromA2a(decodeA2aJson(method.sendMessage.output, answer).payload),
      );
    },
    stream(message, signal) {
      const request = { ...sendRequestToA2a(message), tenant };
      return readElements(
        binding.stream(method.sendStreamingMessage, { request }, signal),
      );
    },
    async get(id, signal) {
      const json = await binding.call(method.getTask, { id, tenant }, signal);
      return readAnswer(json, frameFromTask);
    },
    list: (request, signal) => listTasks(binding, tenant, request, signal),
    async cancel(id, signal) {
      const request = { id, tenant };
      const json = await binding.call(method.cancelTask, request, signal);
      return readAnswer(json, frameFromTask);
    },
    async withdraw({ taskId, messageId }, signal) {
      const { withdrawMessage } = MessageQueueService.method;
      const request = { taskId, messageId, tenant };
      const json = await binding.call(withdrawMessage, request, signal);
      return readAnswer(json, (answer) =>
        frameFromTask(objectOrEmpty(answer).task ?? null),
      );
    },
    subscribe(id, lastEventId, signal) {
      return readElements(
        binding.stream(
          method.subscribeToTask,
          { request: { id, tenant }, lastEventId },
          signal,
        ),
      );
    },
  };
}

/**
 * Converts the elements of a stream of A2A 1.0 to the JSON of 0.3.
 */
async function* readElements(
  elements: AsyncIterable<Frame>,
): AsyncIterable<Frame> {
  for await (const { result, leftOut = [], id } of elements) {
    const read: Answer =
      result === undefined ? { result } : readAnswer(result, frameFromElement);
    const { leftOut: more = [] } = read;
    yield { result: read.result, leftOut: [...leftOut, ...more], id };
  }
}

/**
 * Converts an answer of A2A 1.0 to the JSON of 0.3, without what cannot be
 * read. `convert` throws a `WireError` with the path of that.
 */
function readAnswer(
  json: JsonValue,
  convert: (json: JsonValue) => JsonObject,
): Answer {
  const { value: result, leftOut } = decodeReadable(json, convert);
  return { result, leftOut };
}

function frameFromElement(json: JsonValue): JsonObject {
  return frameFromA2a(decodeA2aJson(StreamResponseSchema, json).payload);
}

function frameFromTask(json: JsonValue): JsonObject {
  return frameFromA2a({
    case: "task",
    value: decodeA2aJson(A2aTaskSchema, json),
  });
}

async function listTasks(
  binding: A2aBinding,
  tenant: string,
  { contextId, state, pageSize, pageToken }: ListTasksRequest,
  signal: AbortSignal,
): Promise<ListTasksResponse> {
  const request = defined({
    tenant,
    contextId,
    status: stateToA2a(state),
    pageSize: pageSize === 0 ? undefined : pageSize,
    pageToken,
    historyLength: 0,
  });
  const { output } = A2AService.method.listTasks;
  const json = await binding.call(A2AService.method.listTasks, request, signal);
  const { value, leftOut } = decodeReadable(json ?? {}, (page) => {
    const read = decodeA2aJson(output, page);
    const at = read.tasks.findIndex(({ id }) => id === "");
    if (at >= 0) throw new WireError(`tasks[${at}]`, "", "has no id");
    return read;
  });
  if (!value) throw unreadableAnswer(leftOut);
  const summaries = value.tasks.map(({ id, contextId, status }) => {
    const state = stateFromA2a(status?.state ?? A2aTaskState.UNSPECIFIED);
    // Of the last event, only state and time are known.
    const lastEvent = defined({
      taskId: id,
      contextId,
      state,
      time: status?.timestamp,
    });
    return { id, contextId, title: "", lastEvent };
  });
  // The same page would come again and again.
  const isSame = pageToken !== "" && value.nextPageToken === pageToken;
  const nextPageToken = isSame ? "" : value.nextPageToken;
  const ends = isSame ? ["further pages, which the agent does not give"] : [];
  return create(ListTasksResponseSchema, {
    tasks: [...summaries, ...rowsOf([...leftOut, ...ends])],
    nextPageToken,
  });
}
