import { create, type JsonValue } from "@bufbuild/protobuf";
import { type TaskEvent, TaskEventSchema, TaskState } from "@devtool/schema";
import { decodeStreamFrame, extensionMetadata, taskEventMetadata } from "@devtool/schema/a2a-v03";
import { objectOf } from "./json.ts";
import { decodeAnswer } from "./peer.ts";
import { eventsFromFrame, type FrameEvents, receivedMessage, type StreamPosition } from "./plain-agent.ts";
import type { Frame } from "./rpc-endpoint.ts";

/** The maximum distance between the ids of two frames of one log; ids further apart are not taken for sequences. */
const MAX_HIDDEN = 1000n;

/**
 * Reads the frames of a stream as events, numbered on from the position that was asked for. An id is the event's sequence
 * only in a log like our server's (STREAM-3): other agents give none, or count the frames of each response anew. An event
 * of a log that A2A shows nothing of (an answer, STREAM-2) is given without a payload, so that none is missing.
 */
export async function* readFrames(frames: AsyncIterable<Frame>, start: StreamPosition): AsyncIterable<TaskEvent> {
  const reader = new FrameReader(start);
  for await (const frame of frames) yield* decodeAnswer(() => reader.read(frame));
  yield* reader.end();
}

class FrameReader {
  readonly #start: bigint;
  #position: StreamPosition;
  #end: TaskEvent | undefined;
  /** Whether ids may be sequences: each frame so far was one event, and none had an id that was known before. */
  #hasSequences = true;
  /** Whether a frame told of the extension, or went on right where the log was read to. */
  #isLog = false;

  constructor(start: StreamPosition) {
    this.#start = start.sequence;
    this.#position = start;
  }

  read({ result, id }: Frame): TaskEvent[] {
    const sequence = this.#sequenceIn(id);
    const { events, end } = this.#eventsIn(result, sequence);
    this.#end = end;
    this.#hasSequences &&= events.length === 1;
    // A task that comes whole stands for all that was before it: what was left out is missing then.
    const hidden = objectOf(result).kind === "task" ? [] : this.#hiddenBefore(sequence);
    return [...hidden, ...events.map((event, index) => this.#numbered(event, index === 0 ? sequence : undefined))];
  }

  /** The events between the last one of a log and the next that is shown. */
  #hiddenBefore(sequence: bigint | undefined): TaskEvent[] {
    const { sequence: last, taskId, contextId, sent } = this.#position;
    // Where a stream answers a message, the events before its first one may be of other exchanges.
    if (!this.#isLog || sequence === undefined || sent || last === 0n || sequence - last > MAX_HIDDEN) return [];
    const count = Math.max(0, Number(sequence - last) - 1);
    const state = TaskState.WORKING;
    return Array.from({ length: count }, () =>
      this.#numbered(create(TaskEventSchema, { taskId, contextId, state }), undefined),
    );
  }

  /** What ends the exchange since no frame followed. */
  end(): TaskEvent[] {
    return this.#end ? [this.#numbered(this.#end, undefined)] : [];
  }

  #sequenceIn(id: string | undefined): bigint | undefined {
    if (id === undefined || !/^\d{1,18}$/.test(id)) return undefined;
    const sequence = BigInt(id);
    this.#hasSequences &&= sequence > this.#start;
    return this.#hasSequences ? sequence : undefined;
  }

  #eventsIn(result: JsonValue, sequence: bigint | undefined): FrameEvents {
    const { kind, metadata } = objectOf(result);
    const hasExtension = [extensionMetadata, taskEventMetadata].some((find) => find(objectOf(metadata)));
    const goesOn = this.#start > 0n && sequence === this.#start + 1n;
    this.#isLog ||= hasExtension || goesOn;
    const isEvent = kind === "task" ? hasExtension : kind === "artifact-update" && this.#isLog;
    if (sequence === undefined || !isEvent) return eventsFromFrame(result, this.#position);
    const event = decodeStreamFrame(result, sequence);
    return { events: [receivedMessage(event, this.#position, objectOf(result)) ?? event] };
  }

  #numbered(event: TaskEvent, sequence: bigint | undefined): TaskEvent {
    const numbered = { ...event, sequence: sequence ?? this.#position.sequence + 1n };
    this.#position = numbered;
    return numbered;
  }
}
