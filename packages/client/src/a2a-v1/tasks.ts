import { create, type JsonValue } from "@bufbuild/protobuf";
import {
  type ListTasksRequest,
  type ListTasksResponse,
  ListTasksResponseSchema,
} from "@devtool/schema";
import {
  A2AService,
  A2aTaskState,
  frameFromA2a,
  MessageQueueService,
  type StreamResponse,
  sendRequestToA2a,
  stateFromA2a,
  stateToA2a,
} from "@devtool/schema/a2a-v1";
import { defined } from "@devtool/schema/json";
import type { Frame } from "../a2a/rpc-endpoint.ts";
import { continueInNewTask, type TaskCalls } from "../a2a/task-calls.ts";
import { decodeAnswer } from "../a2a/wire.ts";
import type { A2aBinding, StreamElement } from "./binding.ts";

/**
 * The task methods of A2A 1.0. An empty tenant is none.
 */
export function taskCallsV1(binding: A2aBinding, tenant: string): TaskCalls {
  const { method } = A2AService;
  return {
    redirect: continueInNewTask,
    async send(request, signal) {
      const { payload } = await binding.call(
        method.sendMessage,
        { ...sendRequestToA2a(request), tenant },
        signal,
      );
      return frameFromPayload(payload);
    },
    stream(message, signal) {
      const request = { ...sendRequestToA2a(message), tenant };
      return readElements(
        binding.stream(method.sendStreamingMessage, { request }, signal),
      );
    },
    async get(id, signal) {
      return frameFromPayload({
        case: "task",
        value: await binding.call(method.getTask, { id, tenant }, signal),
      });
    },
    list: (request, signal) => listTasks(binding, tenant, request, signal),
    async cancel(id, signal) {
      return frameFromPayload({
        case: "task",
        value: await binding.call(method.cancelTask, { id, tenant }, signal),
      });
    },
    async withdraw({ taskId, messageId }, signal) {
      const { withdrawMessage } = MessageQueueService.method;
      const { task } = await binding.call(
        withdrawMessage,
        { taskId, messageId, tenant },
        signal,
      );
      return frameFromPayload(
        task ? { case: "task", value: task } : { case: undefined },
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

async function* readElements(
  elements: AsyncIterable<StreamElement>,
): AsyncIterable<Frame> {
  for await (const { response, id } of elements) {
    yield { result: frameFromPayload(response.payload), id };
  }
}

/**
 * Converts a payload of A2A 1.0 to the JSON of 0.3.
 */
function frameFromPayload(payload: StreamResponse["payload"]): JsonValue {
  return decodeAnswer(() => frameFromA2a(payload));
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
  const { tasks, nextPageToken } = await binding.call(
    A2AService.method.listTasks,
    request,
    signal,
  );
  const summaries = tasks.map(({ id, contextId, status }) => {
    const state = stateFromA2a(status?.state ?? A2aTaskState.UNSPECIFIED);
    // Of the last event, only state and time are known.
    const lastEvent = defined({
      taskId: id,
      contextId,
      state,
      time: status?.timestamp,
    });
    return { id, contextId, lastEvent };
  });
  return create(ListTasksResponseSchema, { tasks: summaries, nextPageToken });
}
