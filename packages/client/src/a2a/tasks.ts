import { create, type JsonValue } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  type Replay,
  type SendMessageRequest,
  SendMessageRequestSchema,
  type Task,
  type TaskEvent,
  type TaskService,
  TaskState,
} from "@devtool/schema";
import { replayIn } from "@devtool/schema/a2a-v03";
import { objectOf } from "./json.ts";
import { KnownTasks } from "./known-tasks.ts";
import { decodeAnswer } from "./peer.ts";
import { type StreamPosition, taskFromAnswer } from "./plain-agent.ts";
import { readFrames } from "./read-frames.ts";
import type { Frame } from "./rpc-endpoint.ts";
import type { TaskCalls } from "./task-calls.ts";

/** Tasks over a version of A2A. */
export function taskImpl(calls: TaskCalls): ServiceImpl<typeof TaskService> {
  const known = new KnownTasks();
  const addressed = (request: SendMessageRequest): SendMessageRequest =>
    calls.addressed(request, known.addressee(request.taskId, request.message?.messageId ?? ""));
  return {
    async sendMessage(request, { signal }) {
      const answer = await calls.send(addressed(request), signal);
      const replay = replayOf(answer);
      return { task: taskIn(answer, known), ...(replay && { replay }) };
    },
    async *streamMessage({ request: asked = create(SendMessageRequestSchema) }, { signal }) {
      const request = addressed(asked);
      const { taskId, message: sent } = request;
      const start = { ...startOf(known.find(taskId)?.sequence ?? 0n, taskId), ...(sent && { sent }) };
      let replay: Replay | undefined;
      const frames = watched(calls.stream(request, signal), ({ result }) => {
        replay = replayOf(result);
      });
      for await (const event of eventsOf(frames, start, known)) {
        yield { event, ...(replay && { replay }) };
        replay = undefined;
      }
    },
    async getTask({ taskId }, { signal }) {
      return { task: taskIn(await calls.get(taskId, signal), known) };
    },
    listTasks: (request, { signal }) => calls.list(request, signal),
    async cancelTask({ taskId }, { signal }) {
      return { task: taskIn(await calls.cancel(taskId, signal), known) };
    },
    async withdrawMessage(request, { signal }) {
      return { task: taskIn(await calls.withdraw(request, signal), known) };
    },
    async *subscribeTask({ taskId, afterSequence }, { signal }) {
      const start = startOf(afterSequence, afterSequence === 0n ? "" : taskId);
      for await (const event of eventsOf(calls.subscribe(taskId, afterSequence, signal), start, known)) yield { event };
    },
  };
}

/** What an answer or a frame says of an exchange that is told again (STREAM-7). */
function replayOf(answer: JsonValue): Replay | undefined {
  return decodeAnswer(() => replayIn(objectOf(objectOf(answer).metadata)));
}

async function* watched(frames: AsyncIterable<Frame>, watch: (frame: Frame) => void): AsyncIterable<Frame> {
  for await (const frame of frames) {
    watch(frame);
    yield frame;
  }
}

function taskIn(answer: Parameters<typeof taskFromAnswer>[0], known: KnownTasks): Task {
  const task = decodeAnswer(() => taskFromAnswer(answer));
  known.note(task);
  return task;
}

/** Where a stream begins: behind an event, in a task of which something is known. */
function startOf(sequence: bigint, taskId: string): StreamPosition {
  return { sequence, taskId, contextId: "", state: TaskState.WORKING };
}

/** The events of a stream, numbered, each noted. */
async function* eventsOf(
  frames: AsyncIterable<Frame>,
  start: StreamPosition,
  known: KnownTasks,
): AsyncIterable<TaskEvent> {
  for await (const event of readFrames(frames, start)) yield noted(event, known);
}

function noted(event: TaskEvent, known: KnownTasks): TaskEvent {
  known.note({ ...event, id: event.taskId });
  return event;
}
