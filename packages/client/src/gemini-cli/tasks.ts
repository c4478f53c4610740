import { create, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import { Code, ConnectError, type ServiceImpl } from "@connectrpc/connect";
import {
  decodeRfcJson,
  emptyTask,
  endsExchange,
  type ListTasksRequest,
  type SendMessageRequest,
  SendMessageRequestSchema,
  type Task,
  type TaskEvent,
  TaskEventSchema,
  type TaskService,
  TaskState,
  type TaskSummary,
  TaskSummarySchema,
} from "@devtool/schema";
import { decodeState } from "@devtool/schema/a2a-v03";
import {
  decodeGeminiCliFrame,
  decodeGeminiCliTask,
  encodeGeminiCliSend,
  type TaskInfo,
  TaskInfoSchema,
} from "@devtool/schema/gemini-cli";
import { assertSendable } from "./assert-sendable.ts";
import { type GeminiCliEndpoint, turnLost } from "./endpoint.ts";
import type { SeenTask, SeenTasks } from "./seen-task.ts";

/** Tasks over the dialect. */
export function taskImpl(endpoint: GeminiCliEndpoint, seen: SeenTasks): ServiceImpl<typeof TaskService> {
  return {
    async sendMessage(request, { signal }) {
      let task: Task | undefined;
      for await (const { taskId } of exchange(request, { endpoint, seen, signal })) task = seen.find(taskId)?.task;
      return task ? { task } : {};
    },
    async *streamMessage({ request = create(SendMessageRequestSchema) }, { signal }) {
      for await (const event of exchange(request, { endpoint, seen, signal })) yield { event };
    },
    async getTask({ taskId }, { signal }) {
      const told = decodeGeminiCliTask(await endpoint.rpc.call("tasks/get", { id: taskId }, signal));
      const known = seen.find(taskId)?.task;
      return { task: known ?? told };
    },
    async listTasks(request, { signal }) {
      const listed = await endpoint.get("/tasks/metadata", signal);
      return { tasks: (Array.isArray(listed) ? listed : []).map(summaryOf).filter((task) => isListed(task, request)) };
    },
    async cancelTask({ taskId }, { signal }) {
      const told = await endpoint.rpc.call("tasks/cancel", { id: taskId }, signal);
      const known = seen.find(taskId);
      if (!known) return { task: decodeGeminiCliTask(told) };
      if (known.task.state !== TaskState.CANCELED) append(known, canceledFrame(told));
      return { task: known.task };
    },
    withdrawMessage() {
      throw new ConnectError("Gemini CLI's server keeps no messages that wait", Code.Unimplemented);
    },
    async *subscribeTask({ taskId, afterSequence }, { signal }) {
      const known = seen.find(taskId);
      if (!known) throw unseen(taskId);
      for await (const event of known.read(afterSequence, signal)) yield { event };
    },
  };
}

interface Exchanging {
  readonly endpoint: GeminiCliEndpoint;
  readonly seen: SeenTasks;
  readonly signal: AbortSignal;
}

async function* exchange(
  request: SendMessageRequest,
  { endpoint, seen, signal }: Exchanging,
): AsyncIterable<TaskEvent> {
  let known = seen.find(request.taskId);
  assertSendable(request, known?.task ?? emptyTask());
  const call = { method: "message/stream", params: encodeGeminiCliSend(request) };
  let isSaid = request.taskId === "";
  for await (const { result } of mended(endpoint.rpc.stream(call, signal))) {
    known ??= seen.open(taskIdIn(result));
    const said = isSaid ? [] : [saidEvent(request, known.task)];
    for (const event of said) known.append(event);
    isSaid = true;
    for (const event of [...said, ...append(known, result)]) {
      yield event;
      if (endsExchange(event)) return;
    }
  }
  throw turnLost(new ConnectError("the stream ended before its turn did", Code.Unavailable));
}

/** Puts the events of a frame behind a task, and gives them. */
export function append(known: SeenTask, result: JsonValue): TaskEvent[] {
  const events = decodeGeminiCliFrame(result, known.task);
  for (const event of events) known.append(event);
  return events;
}

/** The id of the task that a frame is about. */
export function taskIdIn(result: JsonValue): string {
  if (typeof result !== "object" || result === null || Array.isArray(result)) return "";
  const id = result.kind === "task" ? result.id : result.taskId;
  return typeof id === "string" ? id : "";
}

/** Streams, and says of a connection that broke what it means here. */
async function* mended<T>(frames: AsyncIterable<T>): AsyncIterable<T> {
  try {
    yield* frames;
  } catch (reason) {
    throw turnLost(reason);
  }
}

/** The message as an event: the peer does not repeat it in a task that exists. */
function saidEvent({ message, taskId, contextId }: SendMessageRequest, task: Task): TaskEvent {
  return create(TaskEventSchema, {
    sequence: task.sequence + 1n,
    taskId,
    contextId: task.contextId || contextId,
    state: TaskState.WORKING,
    ...(message && { payload: { case: "message", value: message } }),
  });
}

/** A canceled task as the frame that its stream would have got. */
function canceledFrame(told: JsonValue): JsonObject {
  const { id, contextId, status } = decodedObject(told);
  return { kind: "status-update", taskId: id ?? "", contextId: contextId ?? "", status: status ?? {}, final: true };
}

function decodedObject(json: JsonValue): JsonObject {
  return typeof json === "object" && json !== null && !Array.isArray(json) ? json : {};
}

function summaryOf(json: JsonValue): TaskSummary {
  const { id, contextId, taskState, model }: TaskInfo = decodeRfcJson(TaskInfoSchema, json);
  const lastEvent = { taskId: id, contextId, state: decodeState(taskState), model };
  return create(TaskSummarySchema, { id, contextId, lastEvent });
}

function isListed({ contextId, lastEvent }: TaskSummary, asked: ListTasksRequest): boolean {
  const inContext = asked.contextId === "" || asked.contextId === contextId;
  return inContext && (asked.state === TaskState.UNSPECIFIED || asked.state === lastEvent?.state);
}

function unseen(taskId: string): ConnectError {
  return new ConnectError(
    `task ${JSON.stringify(taskId)} was not seen by this client: the server tells nothing again`,
    Code.Unimplemented,
  );
}
