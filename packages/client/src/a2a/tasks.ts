import { create, type JsonValue } from "@bufbuild/protobuf";
import { Code, ConnectError, type ServiceImpl } from "@connectrpc/connect";
import {
  ApprovalMode,
  type Replay,
  type SendMessageRequest,
  SendMessageRequestSchema,
  SessionSettingsSchema,
  type Task,
  type TaskEvent,
  type TaskService,
  TaskState,
} from "@devtool/schema";
import { findReplay } from "@devtool/schema/a2a-v03";
import { defined, objectOrEmpty } from "@devtool/schema/json";
import type { ExtensionUse } from "./endpoint.ts";
import { type KnownTask, KnownTasks } from "./known-tasks.ts";
import { type StreamPosition, taskFromAnswer } from "./plain-agent.ts";
import { assertPlainList } from "./plain-list.ts";
import { readFrames } from "./read-frames.ts";
import type { Frame } from "./rpc-endpoint.ts";
import type { TaskCalls } from "./task-calls.ts";
import { decodeAnswer } from "./wire.ts";

/**
 * Creates the task service on top of one version of A2A.
 */
export function createA2aTaskService(
  calls: TaskCalls,
  extension: ExtensionUse,
): ServiceImpl<typeof TaskService> {
  const known = new KnownTasks();
  const recipientOf = ({
    taskId,
    message,
  }: SendMessageRequest): KnownTask | undefined =>
    known.recipient(taskId, message?.messageId ?? "");
  return {
    async sendMessage(request, { signal }) {
      assertFollowed(request, extension);
      const answer = await calls.send(
        calls.redirect(request, recipientOf(request)),
        signal,
      );
      return defined({
        task: readTask(answer, known),
        replay: readReplay(answer),
      });
    },
    async *streamMessage(
      { request: original = create(SendMessageRequestSchema) },
      { signal },
    ) {
      assertFollowed(original, extension);
      const recipient = recipientOf(original);
      const request = calls.redirect(original, recipient);
      const sequence = request.taskId === "" ? 0n : (recipient?.sequence ?? 0n);
      const start = {
        ...startPosition(request.taskId, sequence),
        sent: request.message,
      };
      yield* readExchange(calls.stream(request, signal), start, known);
    },
    async getTask({ taskId }, { signal }) {
      return { task: readTask(await calls.get(taskId, signal), known) };
    },
    async listTasks(request, { signal }) {
      assertPlainList(request, "A2A");
      return calls.list(request, signal);
    },
    async cancelTask({ taskId }, { signal }) {
      return { task: readTask(await calls.cancel(taskId, signal), known) };
    },
    async withdrawMessage(request, { signal }) {
      return { task: readTask(await calls.withdraw(request, signal), known) };
    },
    async *subscribeTask({ taskId, afterSequence }, { signal }) {
      const start = startPosition(
        afterSequence === 0n ? "" : taskId,
        afterSequence,
      );
      for await (const event of readEvents(
        calls.subscribe(taskId, afterSequence, signal),
        start,
        known,
      )) {
        yield { event };
      }
    },
    renameTask() {
      throw new ConnectError(
        "renameTask: A2A has no such request: use Connect or gRPC",
        Code.Unimplemented,
      );
    },
    watchTasks() {
      throw new ConnectError(
        "watchTasks: A2A has no such request: use Connect or gRPC",
        Code.Unimplemented,
      );
    },
  };
}

/**
 * Throws `Code.FailedPrecondition` for settings that narrow what an agent does,
 * or add to it, if the agent does not have the extension: it would ignore them.
 */
function assertFollowed(
  { sessionSettings, messageSettings }: SendMessageRequest,
  extension: ExtensionUse,
): void {
  if (extension === "active") return;
  const { allowedTools, mcpServers, approvalMode, model, agentOptions } =
    sessionSettings ?? create(SessionSettingsSchema);
  const asked = {
    allowed_tools: allowedTools.length > 0,
    approval_mode:
      approvalMode !== ApprovalMode.UNSPECIFIED &&
      approvalMode !== ApprovalMode.YOLO,
    model: model !== "",
    mcp_servers: mcpServers.length > 0,
    agent_options: Object.keys(agentOptions).length > 0,
    turn: messageSettings?.turn !== undefined,
  };
  const ignored = Object.entries(asked).find(([, isAsked]) => isAsked);
  if (!ignored) return;
  const problem =
    "the agent does not have the development-tool extension, so it would ignore it";
  throw new ConnectError(
    `${ignored[0]} cannot be used: ${problem}: leave it out`,
    Code.FailedPrecondition,
  );
}

/**
 * The position of a stream that starts after an event of a task of which
 * nothing else is known.
 */
function startPosition(taskId: string, sequence: bigint): StreamPosition {
  return { sequence, taskId, contextId: "", state: TaskState.WORKING };
}

function readTask(answer: JsonValue, known: KnownTasks): Task {
  const task = decodeAnswer(() => taskFromAnswer(answer));
  // A known task has the sequence that a stream has shown, from which the
  // events of agents without ids are counted on.
  known.update({ ...task, sequence: 0n });
  return task;
}

/**
 * Reads whether an answer or a frame replays an earlier exchange (STREAM-7).
 */
function readReplay(answer: JsonValue): Replay | undefined {
  return decodeAnswer(() =>
    findReplay(objectOrEmpty(objectOrEmpty(answer).metadata)),
  );
}

/**
 * Reads the events of a stream that answers a message, the first event of a
 * frame with the frame's replay.
 */
async function* readExchange(
  answer: AsyncIterable<Frame>,
  start: StreamPosition,
  known: KnownTasks,
): AsyncIterable<{ event: TaskEvent; replay?: Replay }> {
  let replay: Replay | undefined;
  const frames = (async function* () {
    for await (const frame of answer) {
      // A frame may show no event, and its replay goes with the next one.
      replay = readReplay(frame.result) ?? replay;
      yield frame;
    }
  })();
  for await (const event of readEvents(frames, start, known)) {
    yield defined({ event, replay });
    replay = undefined;
  }
}

/**
 * Reads the events of a stream and remembers where their task stands.
 */
async function* readEvents(
  frames: AsyncIterable<Frame>,
  start: StreamPosition,
  known: KnownTasks,
): AsyncIterable<TaskEvent> {
  for await (const event of readFrames(frames, start)) {
    known.update({ ...event, id: event.taskId });
    yield event;
  }
}
