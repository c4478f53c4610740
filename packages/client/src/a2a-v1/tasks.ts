import { create, type JsonValue } from "@bufbuild/protobuf";
import {
  type ListTasksRequest,
  type ListTasksResponse,
  ListTasksResponseSchema,
  type TaskSummary,
  TaskSummarySchema,
} from "@devtool/schema";
import {
  A2AService,
  type A2aTask,
  A2aTaskState,
  frameFromA2a,
  MessageQueueService,
  type StreamResponse,
  sendRequestToA2a,
  stateFromA2a,
  stateToA2a,
} from "@devtool/schema/a2a-v1";
import { continuation } from "../a2a/continuation.ts";
import { decodeAnswer } from "../a2a/peer.ts";
import type { Frame } from "../a2a/rpc-endpoint.ts";
import type { TaskCalls } from "../a2a/task-calls.ts";
import type { A2aBinding, Element } from "./binding.ts";

/** The methods on tasks of A2A 1.0, in one of the tenants of an agent; an empty one is none. */
export function taskCallsV1(binding: A2aBinding, tenant: string): TaskCalls {
  const { method } = A2AService;
  return {
    addressed: continuation,
    async send(request, signal) {
      const { payload } = await binding.call(method.sendMessage, { ...sendRequestToA2a(request), tenant }, signal);
      return jsonOf(payload);
    },
    stream(request, signal) {
      const asked = { ...sendRequestToA2a(request), tenant };
      return framesOf(binding.stream(method.sendStreamingMessage, { request: asked }, signal));
    },
    async get(id, signal) {
      return jsonOf({ case: "task", value: await binding.call(method.getTask, { id, tenant }, signal) });
    },
    list: (request, signal) => list(request, { binding, tenant }, signal),
    async cancel(id, signal) {
      return jsonOf({ case: "task", value: await binding.call(method.cancelTask, { id, tenant }, signal) });
    },
    async withdraw({ taskId, messageId }, signal) {
      const { withdrawMessage } = MessageQueueService.method;
      const { task } = await binding.call(withdrawMessage, { taskId, messageId, tenant }, signal);
      return jsonOf(task ? { case: "task", value: task } : { case: undefined });
    },
    subscribe(id, lastEventId, signal) {
      return framesOf(binding.stream(method.subscribeToTask, { request: { id, tenant }, lastEventId }, signal));
    },
  };
}

async function* framesOf(elements: AsyncIterable<Element>): AsyncIterable<Frame> {
  for await (const { response, id } of elements) yield { result: jsonOf(response.payload), id };
}

function jsonOf(payload: StreamResponse["payload"]): JsonValue {
  return decodeAnswer(() => frameFromA2a(payload));
}

async function list(
  { contextId, state, pageSize, pageToken }: ListTasksRequest,
  { binding, tenant }: { readonly binding: A2aBinding; readonly tenant: string },
  signal: AbortSignal,
): Promise<ListTasksResponse> {
  const size = pageSize === 0 ? {} : { pageSize };
  const request = { tenant, contextId, status: stateToA2a(state), pageToken, historyLength: 0, ...size };
  const { tasks, nextPageToken } = await binding.call(A2AService.method.listTasks, request, signal);
  return create(ListTasksResponseSchema, { tasks: tasks.map(summaryOf), nextPageToken });
}

/** A task in a list; of its last event there is known the state and the time. */
function summaryOf({ id, contextId, status }: A2aTask): TaskSummary {
  const { state = A2aTaskState.UNSPECIFIED, timestamp } = status ?? {};
  const lastEvent = { taskId: id, contextId, state: stateFromA2a(state), ...(timestamp && { time: timestamp }) };
  return create(TaskSummarySchema, { id, contextId, lastEvent });
}
