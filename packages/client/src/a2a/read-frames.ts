import { create, type JsonValue } from "@bufbuild/protobuf";
import { type TaskEvent, TaskEventSchema, TaskState } from "@devtool/schema";
import {
  decodeStreamFrame,
  extensionMetadata,
  taskEventMetadata,
} from "@devtool/schema/a2a-v03";
import { objectOrEmpty } from "@devtool/schema/json";
import {
  eventsFromFrame,
  type FrameEvents,
  receivedMessage,
  type StreamPosition,
} from "./plain-agent.ts";
import type { Frame } from "./rpc-endpoint.ts";
import { decodeAnswer } from "./wire.ts";

/**
 * Maximum distance between the ids of two frames of one log. Ids further apart
 * are not taken for sequences.
 */
const MAX_HIDDEN = 1000n;

/**
 * Reads the frames of a stream as events, numbered on from `start`.
 *
 * A frame's id is the sequence of its event only in a log like devtool's
 * (STREAM-3). Other agents send no ids, or restart their count with each
 * response; their events are counted here. Events of a log that A2A has no form
 * for, such as an answer (STREAM-2), are filled in without a payload so that
 * the sequence has no gap.
 */
export async function* readFrames(
  frames: AsyncIterable<Frame>,
  start: StreamPosition,
): AsyncIterable<TaskEvent> {
  const reader = new FrameReader(start);
  for await (const frame of frames) {
    yield* decodeAnswer(() => reader.read(frame));
  }
  yield* reader.end();
}

class FrameReader {
  /**
   * The sequence that the stream starts after.
   */
  readonly #start: bigint;
  #position: StreamPosition;
  /**
   * The event that ends the exchange if no frame follows.
   */
  #end: TaskEvent | undefined;
  /**
   * Whether ids may be sequences: each frame so far was one event, and no id
   * was lower than an event already read.
   */
  #hasSequences = true;
  /**
   * Whether the stream is the log of a server like devtool's: a frame used the
   * extension, or the first id followed directly on the last event read.
   */
  #isLog = false;

  constructor(start: StreamPosition) {
    this.#start = start.sequence;
    this.#position = start;
  }

  read({ result, id }: Frame): TaskEvent[] {
    const number =
      id !== undefined && /^\d{1,18}$/.test(id) ? BigInt(id) : undefined;
    this.#hasSequences &&= number === undefined || number > this.#start;
    const sequence = this.#hasSequences ? number : undefined;
    const { events, end } = this.#eventsFrom(result, sequence);
    this.#end = end;
    this.#hasSequences &&= events.length === 1;
    // A whole task stands for all events before it, so nothing is filled in.
    const hidden =
      objectOrEmpty(result).kind === "task" ? [] : this.#hiddenBefore(sequence);
    return [
      ...hidden,
      ...events.map((event, index) =>
        this.#number(event, index === 0 ? sequence : undefined),
      ),
    ];
  }

  /**
   * Returns the last event of a stream that has ended.
   */
  end(): TaskEvent[] {
    return this.#end ? [this.#number(this.#end, undefined)] : [];
  }

  #eventsFrom(result: JsonValue, sequence: bigint | undefined): FrameEvents {
    const frame = objectOrEmpty(result);
    const metadata = objectOrEmpty(frame.metadata);
    const hasExtension = [extensionMetadata, taskEventMetadata].some((find) =>
      find(metadata),
    );
    const continues = this.#start > 0n && sequence === this.#start + 1n;
    this.#isLog ||= hasExtension || continues;
    const isEvent =
      frame.kind === "task"
        ? hasExtension
        : frame.kind === "artifact-update" && this.#isLog;
    if (sequence === undefined || !isEvent) {
      return eventsFromFrame(result, this.#position);
    }
    const event = decodeStreamFrame(result, sequence);
    return { events: [receivedMessage(event, this.#position, frame) ?? event] };
  }

  /**
   * Fills in the events between the last one of a log and the next one that A2A
   * shows.
   */
  #hiddenBefore(sequence: bigint | undefined): TaskEvent[] {
    const { sequence: last, taskId, contextId, sent } = this.#position;
    // Before the first event of an answer to a message, there may be events of
    // other exchanges.
    if (
      !this.#isLog ||
      sequence === undefined ||
      sent ||
      last === 0n ||
      sequence - last > MAX_HIDDEN
    ) {
      return [];
    }
    const count = Math.max(0, Number(sequence - last) - 1);
    const hidden = create(TaskEventSchema, {
      taskId,
      contextId,
      state: TaskState.WORKING,
    });
    return Array.from({ length: count }, () => this.#number(hidden, undefined));
  }

  #number(event: TaskEvent, sequence: bigint | undefined): TaskEvent {
    const numbered = {
      ...event,
      sequence: sequence ?? this.#position.sequence + 1n,
    };
    this.#position = numbered;
    return numbered;
  }
}
