import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import { SendMessageRequestSchema, type TaskEvent, type TaskService, TaskState } from "@devtool/schema";
import { decodeStreamFrame } from "@devtool/schema/a2a-v03";
import { Heads } from "./heads.ts";
import type { Frame } from "./json-rpc-endpoint.ts";
import { decodeAnswer } from "./peer.ts";
import {
  eventsFromFrame,
  type FrameEvents,
  receivedMessage,
  type StreamPosition,
  taskFromAnswer,
} from "./plain-agent.ts";
import type { TaskCalls } from "./task-calls.ts";

/** Tasks over a version of A2A. */
export function taskImpl(calls: TaskCalls): ServiceImpl<typeof TaskService> {
  const heads = new Heads();
  return {
    async sendMessage(request, { signal }) {
      const answer = await calls.send(request, signal);
      return { task: decodeAnswer(() => taskFromAnswer(answer)) };
    },
    async *streamMessage({ request = create(SendMessageRequestSchema) }, { signal }) {
      const { taskId, message: sent } = request;
      const start = { ...startOf(heads.of(taskId), taskId), ...(sent && { sent }) };
      for await (const event of eventsOf(calls.stream(request, signal), start, heads)) yield { event };
    },
    async getTask({ taskId }, { signal }) {
      const answer = await calls.get(taskId, signal);
      return { task: decodeAnswer(() => taskFromAnswer(answer)) };
    },
    listTasks: (request, { signal }) => calls.list(request, signal),
    async cancelTask({ taskId }, { signal }) {
      const answer = await calls.cancel(taskId, signal);
      return { task: decodeAnswer(() => taskFromAnswer(answer)) };
    },
    async *subscribeTask({ taskId, afterSequence }, { signal }) {
      const start = startOf(afterSequence, afterSequence === 0n ? "" : taskId);
      for await (const event of eventsOf(calls.subscribe(taskId, afterSequence, signal), start, heads)) yield { event };
    },
  };
}

/** Where a stream begins: behind an event, in a task of which something is known. */
function startOf(sequence: bigint, taskId: string): StreamPosition {
  return { sequence, taskId, contextId: "", state: TaskState.WORKING };
}

/** The events of a stream; where the server gives no ids, they are counted from the position that was asked for. */
async function* eventsOf(frames: AsyncIterable<Frame>, start: StreamPosition, heads: Heads): AsyncIterable<TaskEvent> {
  let position = start;
  let end: TaskEvent | undefined;
  for await (const frame of frames) {
    const told = decodeAnswer(() => eventsOfFrame(frame, position));
    end = told.end;
    for (const event of told.events) {
      position = event.sequence === 0n ? { ...event, sequence: position.sequence + 1n } : event;
      heads.note(position.taskId, position.sequence);
      yield { ...event, sequence: position.sequence };
    }
  }
  if (!end) return;
  heads.note(end.taskId, position.sequence + 1n);
  yield { ...end, sequence: position.sequence + 1n };
}

function eventsOfFrame({ result, id }: Frame, position: StreamPosition): FrameEvents {
  if (id === undefined || !/^\d{1,18}$/.test(id)) return eventsFromFrame(result, position);
  const event = decodeStreamFrame(result, BigInt(id));
  return { events: [receivedMessage(event, position) ?? event] };
}
