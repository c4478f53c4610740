import { create, type JsonValue } from "@bufbuild/protobuf";
import { Code, ConnectError, type ServiceImpl } from "@connectrpc/connect";
import { defined, objectOrEmpty, stringOrEmpty } from "@devtool/internal/json";
import {
  decodeRfcJson,
  emptyTask,
  endsExchange,
  type ListTasksRequest,
  mistyped,
  type SendMessageRequest,
  SendMessageRequestSchema,
  type Task,
  type TaskEvent,
  TaskEventSchema,
  type TaskService,
  TaskState,
  type TaskSummary,
  TaskSummarySchema,
  WireError,
} from "@devtool/schema";
import { decodeState } from "@devtool/schema/a2a-v03";
import {
  decodeGeminiCliTask,
  encodeGeminiCliSend,
  type TaskInfo,
  TaskInfoSchema,
} from "@devtool/schema/gemini-cli";
import { decodeReadable, decodeTold } from "../a2a/decode-readable.ts";
import { assertPlainList, rowsOf } from "../a2a/plain-list.ts";
import type { Frame } from "../a2a/rpc-endpoint.ts";
import { unreadableAnswer } from "../a2a/wire.ts";
import { assertSendable } from "./assert-sendable.ts";
import { type GeminiCliEndpoint, lostTurnError } from "./endpoint.ts";
import type { RecordedTasks } from "./recorded-task.ts";

/**
 * Creates the task service over the dialect.
 */
export function createGeminiCliTaskService(
  endpoint: GeminiCliEndpoint,
  recorded: RecordedTasks,
): ServiceImpl<typeof TaskService> {
  return {
    async sendMessage(request, { signal }) {
      let task: Task | undefined;
      for await (const { taskId } of exchange(
        request,
        endpoint,
        recorded,
        signal,
      )) {
        task = recorded.find(taskId)?.task;
      }
      return defined({ task });
    },
    async *streamMessage(
      { request = create(SendMessageRequestSchema) },
      { signal },
    ) {
      for await (const event of exchange(request, endpoint, recorded, signal)) {
        yield { event };
      }
    },
    async getTask({ taskId }, { signal }) {
      const json = await endpoint.rpc.call("tasks/get", { id: taskId }, signal);
      const task = decodeTold(json, decodeGeminiCliTask, endpoint.onLeftOut);
      return { task: recorded.find(taskId)?.task ?? task };
    },
    async listTasks(request, { signal }) {
      assertPlainList(request, "Gemini CLI's server");
      return {
        tasks: readTaskList(
          (await endpoint.get("/tasks/metadata", signal)) ?? [],
          request,
        ),
      };
    },
    cancelTask: async ({ taskId }, { signal }) => ({
      task: await cancelTask(taskId, endpoint, recorded, signal),
    }),
    withdrawMessage() {
      throw unimplemented("withdrawMessage", "does not queue messages");
    },
    renameTask() {
      throw unimplemented("renameTask", "has no titles");
    },
    setGoalState() {
      throw unimplemented("setGoalState", "has no goals");
    },
    deleteTask() {
      throw unimplemented("deleteTask", "deletes no tasks");
    },
    watchTasks() {
      throw unimplemented("watchTasks", "does not tell which tasks change");
    },
    async *subscribeTask({ taskId, afterSequence }, { signal }) {
      const known = recorded.find(taskId);
      if (!known) {
        const message = `task ${JSON.stringify(taskId)} is not known to this client: the server does not replay events`;
        throw new ConnectError(message, Code.Unimplemented);
      }
      for await (const event of known.read(afterSequence, signal)) {
        yield { event };
      }
    },
  };
}

function unimplemented(method: string, reason: string): ConnectError {
  return new ConnectError(
    `${method}: Gemini CLI's server ${reason}`,
    Code.Unimplemented,
  );
}

/** Cancels a task, and records that for the readers of its events. */
async function cancelTask(
  taskId: string,
  endpoint: GeminiCliEndpoint,
  recorded: RecordedTasks,
  signal: AbortSignal,
): Promise<Task> {
  const answer = await endpoint.rpc.call(
    "tasks/cancel",
    { id: taskId },
    signal,
  );
  const known = recorded.find(taskId);
  if (!known) {
    return decodeTold(answer, decodeGeminiCliTask, endpoint.onLeftOut);
  }
  if (known.task.state !== TaskState.CANCELED) {
    // Recorded as the frame that the task's stream would have received.
    const { id = "", contextId = "", status = {} } = objectOrEmpty(answer);
    known.appendFrame({
      kind: "status-update",
      taskId: id,
      contextId,
      status,
      final: true,
    });
  }
  return known.task;
}

/**
 * Sends a message, and records and yields the events of its turn.
 */
async function* exchange(
  request: SendMessageRequest,
  endpoint: GeminiCliEndpoint,
  recorded: RecordedTasks,
  signal: AbortSignal,
): AsyncIterable<TaskEvent> {
  let known = recorded.find(request.taskId);
  assertSendable(request, known?.task ?? emptyTask());
  const call = {
    method: "message/stream",
    params: encodeGeminiCliSend(request),
  };
  // The server repeats the message only in a task that it creates.
  let isMessageRecorded = request.taskId === "";
  for await (const { result, leftOut } of withTurnErrors(
    endpoint.rpc.stream(call, signal),
  )) {
    if (result === undefined) throw unreadableAnswer(leftOut ?? []);
    known ??= recorded.open(taskIdFrom(result));
    const events: TaskEvent[] = [];
    if (!isMessageRecorded) {
      const { message, taskId, contextId } = request;
      const event = create(
        TaskEventSchema,
        defined({
          sequence: known.task.sequence + 1n,
          taskId,
          contextId: known.task.contextId || contextId,
          state: TaskState.WORKING,
          payload: message && ({ case: "message", value: message } as const),
        }),
      );
      known.append(event);
      events.push(event);
      isMessageRecorded = true;
    }
    for (const event of [...events, ...known.appendFrame(result)]) {
      yield event;
      if (endsExchange(event)) return;
    }
  }
  throw lostTurnError(
    new ConnectError("the stream ended before its turn did", Code.Unavailable),
  );
}

/**
 * Returns the id of the task that a frame is about.
 */
export function taskIdFrom(frame: JsonValue): string {
  const { kind, id, taskId } = objectOrEmpty(frame);
  return stringOrEmpty(kind === "task" ? id : taskId);
}

async function* withTurnErrors(
  frames: AsyncIterable<Frame>,
): AsyncIterable<Frame> {
  try {
    yield* frames;
  } catch (reason) {
    throw lostTurnError(reason);
  }
}

/**
 * Reads a list of tasks and applies the filters of the request, which the
 * server does not know.
 */
function readTaskList(
  json: JsonValue,
  request: ListTasksRequest,
): TaskSummary[] {
  const { value = [], leftOut } = decodeReadable(json, readInfos);
  const found = value.flatMap(({ id, contextId, taskState, model }) => {
    const state = decodeState(taskState);
    if (request.contextId !== "" && request.contextId !== contextId) return [];
    if (request.state !== TaskState.UNSPECIFIED && request.state !== state) {
      return [];
    }
    const lastEvent = { taskId: id, contextId, state, model };
    return [create(TaskSummarySchema, { id, contextId, lastEvent })];
  });
  return [...found, ...rowsOf(leftOut)];
}

function readInfos(json: JsonValue): TaskInfo[] {
  if (!Array.isArray(json)) throw mistyped("", json, "a list of tasks");
  return json.map((item, index) => {
    const info = decodeRfcJson(TaskInfoSchema, item, `[${index}]`);
    if (info.id === "") throw new WireError(`[${index}]`, "", "has no id");
    return info;
  });
}
