import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  type SendMessageRequest,
  SendMessageRequestSchema,
  type Task,
  type TaskEvent,
  type TaskService,
  TaskState,
} from "@devtool/schema";
import { decodeStreamFrame } from "@devtool/schema/a2a-v03";
import { KnownTasks } from "./known-tasks.ts";
import { decodeAnswer } from "./peer.ts";
import {
  eventsFromFrame,
  type FrameEvents,
  receivedMessage,
  type StreamPosition,
  taskFromAnswer,
} from "./plain-agent.ts";
import type { Frame } from "./rpc-endpoint.ts";
import type { TaskCalls } from "./task-calls.ts";

/** Tasks over a version of A2A. */
export function taskImpl(calls: TaskCalls): ServiceImpl<typeof TaskService> {
  const known = new KnownTasks();
  const addressed = (request: SendMessageRequest): SendMessageRequest =>
    calls.addressed(request, known.addressee(request.taskId, request.message?.messageId ?? ""));
  return {
    async sendMessage(request, { signal }) {
      return { task: taskIn(await calls.send(addressed(request), signal), known) };
    },
    async *streamMessage({ request: asked = create(SendMessageRequestSchema) }, { signal }) {
      const request = addressed(asked);
      const { taskId, message: sent } = request;
      const start = { ...startOf(known.find(taskId)?.sequence ?? 0n, taskId), ...(sent && { sent }) };
      for await (const event of eventsOf(calls.stream(request, signal), start, known)) yield { event };
    },
    async getTask({ taskId }, { signal }) {
      return { task: taskIn(await calls.get(taskId, signal), known) };
    },
    listTasks: (request, { signal }) => calls.list(request, signal),
    async cancelTask({ taskId }, { signal }) {
      return { task: taskIn(await calls.cancel(taskId, signal), known) };
    },
    async *subscribeTask({ taskId, afterSequence }, { signal }) {
      const start = startOf(afterSequence, afterSequence === 0n ? "" : taskId);
      for await (const event of eventsOf(calls.subscribe(taskId, afterSequence, signal), start, known)) yield { event };
    },
  };
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

/** The events of a stream; where the server gives no ids, they are counted from the position that was asked for. */
async function* eventsOf(
  frames: AsyncIterable<Frame>,
  start: StreamPosition,
  known: KnownTasks,
): AsyncIterable<TaskEvent> {
  let position = start;
  let end: TaskEvent | undefined;
  for await (const frame of frames) {
    const told = decodeAnswer(() => eventsOfFrame(frame, position));
    end = told.end;
    for (const event of told.events) {
      const sequence = event.sequence === 0n ? position.sequence + 1n : event.sequence;
      position = { ...event, sequence };
      yield noted({ ...event, sequence }, known);
    }
  }
  if (end) yield noted({ ...end, sequence: position.sequence + 1n }, known);
}

function noted(event: TaskEvent, known: KnownTasks): TaskEvent {
  known.note({ ...event, id: event.taskId });
  return event;
}

function eventsOfFrame({ result, id }: Frame, position: StreamPosition): FrameEvents {
  if (id === undefined || !/^\d{1,18}$/.test(id)) return eventsFromFrame(result, position);
  const event = decodeStreamFrame(result, BigInt(id));
  return { events: [receivedMessage(event, position) ?? event] };
}
