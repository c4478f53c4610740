import { create, type JsonValue } from "@bufbuild/protobuf";
import { abortable } from "@devtool/internal/abortable";
import { isObject, objectOrEmpty, stringOrEmpty } from "@devtool/internal/json";
import {
  isAtRest,
  isTerminal,
  quote,
  type TaskEvent,
  TaskEventSchema,
  TaskState,
} from "@devtool/schema";
import {
  decodeStreamFrame,
  extensionMetadata,
  taskEventMetadata,
} from "@devtool/schema/a2a-v03";
import { decodeReadable } from "./decode-readable.ts";
import {
  completeFrame,
  eventsFromFrame,
  type FrameEvents,
  receivedMessage,
  type StreamPosition,
} from "./plain-agent.ts";
import type { Frame } from "./rpc-endpoint.ts";
import type { TaskContent } from "./task-content.ts";
import { unreadableAnswer } from "./wire.ts";

/**
 * Maximum distance between the ids of two frames of one log. Ids further apart
 * are not taken for sequences.
 */
const MAX_HIDDEN = 1000n;

/**
 * First ids from here on are times, if nothing else shows that they are
 * sequences.
 */
const MAX_FIRST = 1_000_000_000n;

/**
 * Time in milliseconds to wait for content that an agent sends after the end of
 * a task, if it leaves the stream open; and after a question, where leaving it
 * open is the rule in A2A 1.0.
 */
const LATE_MS = 5_000;
const LATE_AFTER_QUESTION_MS = 500;

/**
 * What the reader of a stream has beside the frames.
 */
export interface FrameSource {
  /**
   * Opens the stream. It must end when the signal aborts.
   */
  open(signal: AbortSignal): AsyncIterable<Frame>;
  readonly start: StreamPosition;
  /**
   * Whether the stream may be the log of a server like devtool's: the extension
   * is used.
   */
  readonly mayBeLog: boolean;
  /**
   * Returns what was shown of a task.
   */
  readonly contentOf: (taskId: string) => TaskContent;
}

/**
 * Reads the frames of a stream as events, numbered on from `start`.
 *
 * A frame's id is the sequence of its event only in a log like devtool's
 * (STREAM-3). Other agents send no ids, or times, or restart their count with
 * each response; their events are counted here. Events of a log that A2A has no
 * form for, such as an answer (STREAM-2), are filled in without a payload so
 * that the sequence has no gap.
 *
 * What cannot be read is left out, and a notice in its place says so. The end
 * of the exchange comes last, after content that the agent sends too late.
 */
export async function* readFrames(
  source: FrameSource,
  signal: AbortSignal,
): AsyncIterable<TaskEvent> {
  const reader = new FrameReader(source);
  const enough = new AbortController();
  const frames = source
    .open(AbortSignal.any([signal, enough.signal]))
    [Symbol.asyncIterator]();
  try {
    for (;;) {
      const { lateMs } = reader;
      const limit = lateMs === undefined ? signal : AbortSignal.timeout(lateMs);
      const pending = frames.next();
      const next = await abortable(pending, limit).catch((reason: unknown) => {
        pending.catch(() => undefined);
        if (lateMs === undefined) throw reason;
        return undefined;
      });
      if (!next || next.done) break;
      yield* reader.read(next.value);
    }
    yield* reader.close();
  } finally {
    enough.abort();
  }
}

class FrameReader {
  readonly #source: FrameSource;
  #position: StreamPosition;
  #lastFrame: Frame | undefined;
  #ending: Ending = {};
  /**
   * Why elements were left out since the last event.
   */
  #leftOut: readonly string[] = [];
  /**
   * What to tell the user beside the next event; empty for nothing.
   */
  #doubt = "";
  /**
   * Whether this stream has shown anything.
   */
  #hasShown = false;
  /**
   * Whether ids may be sequences: each frame so far was one event, with an id
   * above that of the event before it.
   */
  #hasSequences: boolean;
  /**
   * Whether the stream is the log of a server like devtool's: a frame used the
   * extension, or the first id followed directly on the last event read.
   */
  #isLog = false;
  /**
   * What was shown of a message without a task.
   */
  readonly #taskless: TaskContent;

  constructor(source: FrameSource) {
    const { start, mayBeLog, contentOf } = source;
    this.#source = source;
    this.#position = start;
    this.#hasSequences = mayBeLog;
    this.#taskless = contentOf("");
    if (start.sent) contentOf(start.taskId).startExchange();
  }

  /**
   * How long to wait for another frame, in milliseconds. Undefined while the
   * exchange has not ended.
   */
  get lateMs(): number | undefined {
    const { last } = this.#ending;
    if (!last) return undefined;
    return isTerminal(last.state) ? LATE_MS : LATE_AFTER_QUESTION_MS;
  }

  /**
   * Reads a frame as events. An element that cannot be read costs only itself.
   */
  read(frame: Frame): TaskEvent[] {
    const { result, leftOut = [], doubt = this.#doubt, id } = frame;
    this.#doubt = doubt;
    const before = this.#lastFrame;
    this.#lastFrame = frame;
    if (id !== undefined && id === before?.id) {
      // A log may send an event twice. Other agents use an id twice.
      const isTwice = JSON.stringify(result) === JSON.stringify(before.result);
      if (this.#isLog && isTwice) return [];
      this.#hasSequences = false;
    }
    const stranger = before && this.#otherTask(result);
    if (result === undefined || stranger !== undefined) {
      const why = `an event of another task, ${quote(stranger)}`;
      const reasons = stranger === undefined ? leftOut : [why];
      this.#leftOut = [...this.#leftOut, ...reasons];
      return [];
    }
    const { value, leftOut: unread } = decodeReadable(result, (json) =>
      this.#decode(json, id),
    );
    this.#leftOut = [...this.#leftOut, ...leftOut, ...unread];
    return value ? this.#emit(value) : [];
  }

  /**
   * Returns the last events of a stream that has ended.
   *
   * Throws if what was left out may have been its end, unless the task can be
   * asked for, and if the stream had nothing else.
   */
  close(): TaskEvent[] {
    const { last, end = last } = this.#ending;
    const isBroken = !end && this.#leftOut.length > 0;
    if (isBroken && (this.#source.mayBeLog || !this.#hasShown)) {
      throw unreadableAnswer(this.#leftOut);
    }
    return [...this.#notices(), ...this.#end()];
  }

  #end(): TaskEvent[] {
    const { last, end = last } = this.#ending;
    this.#ending = {};
    if (!end) return [];
    return [this.#number(end, end.sequence)];
  }

  /**
   * Decodes a frame. Nothing has changed if it throws.
   */
  #decode(json: JsonValue, id: string | undefined): Decoded {
    const { start, mayBeLog, contentOf } = this.#source;
    const frame = completeFrame(objectOrEmpty(json));
    const metadata = objectOrEmpty(frame.metadata);
    const number = id !== undefined && SEQUENCE.test(id) ? BigInt(id) : 0n;
    const hasExtension = [extensionMetadata, taskEventMetadata].some((find) =>
      find(metadata),
    );
    const continues = start.sequence > 0n && number === start.sequence + 1n;
    const isLog = this.#isLog || (mayBeLog && (hasExtension || continues));
    const mayBegin = mayBeLog && this.#position === start && number < MAX_FIRST;
    const isSequence = (isLog || mayBegin) && this.#isNext(number);
    const sequence = isSequence ? number : 0n;
    const event = decodeStreamFrame(isObject(json) ? frame : json, sequence);
    const taskId = event.taskId || this.#position.taskId;
    const content = taskId === "" ? this.#taskless : contentOf(taskId);
    const isReceipt = frame.kind === "task" && hasExtension && sequence > 0n;
    const read = isReceipt
      ? { events: [receivedMessage(event, this.#position, frame) ?? event] }
      : eventsFromFrame(frame, event, this.#position, content);
    this.#isLog = isLog;
    this.#hasSequences &&= number === 0n || sequence > 0n || !isLog;
    return { ...read, sequence, kind: frame.kind };
  }

  #isNext(number: bigint): boolean {
    const { sequence: last, sent } = this.#position;
    // Before the first event of an answer to a message, there may be events of
    // other exchanges.
    const isNear =
      last === 0n || sent !== undefined || number - last <= MAX_HIDDEN;
    return this.#hasSequences && number > last && isNear;
  }

  #emit({ events, end, last, sequence, kind }: Decoded): TaskEvent[] {
    const held = this.#ending.last;
    const isLate = held && this.#isLate(held, { end, last, kind });
    const before = held && !isLate ? this.#end() : [];
    // A whole task stands for all events before it, so nothing is filled in.
    const hidden = kind === "task" ? [] : this.#hiddenBefore(sequence);
    const isShown = events.length > 0 || last !== undefined;
    const notices = isShown ? this.#notices() : [];
    this.#hasShown ||= isShown;
    const numbered = events.map((event, index) =>
      this.#number(event, index === 0 ? sequence : 0n),
    );
    const ending = last && {
      ...last,
      sequence: events.length === 0 ? sequence : 0n,
    };
    this.#ending = { end, last: ending ?? (isLate ? held : undefined) };
    this.#hasSequences &&= events.length + (last ? 1 : 0) === 1;
    return [...before, ...hidden, ...notices, ...numbered];
  }

  /**
   * Whether a frame after the end of an exchange still belongs before it: it is
   * not the beginning of another exchange.
   */
  #isLate(
    held: TaskEvent,
    { end, last, kind }: Pick<Decoded, "end" | "last" | "kind">,
  ): boolean {
    if (this.#isLog) return false;
    const isContent = kind === "artifact-update" || kind === "message";
    return isTerminal(held.state) || isContent || (last ?? end) !== undefined;
  }

  /**
   * Returns the id of a frame's task if the stream is not about it.
   */
  #otherTask(json: JsonValue | undefined): string | undefined {
    const { kind, id, taskId } = objectOrEmpty(json);
    const named = stringOrEmpty(kind === "task" ? id : taskId);
    const own = this.#position.taskId;
    return named === "" || own === "" || named === own ? undefined : named;
  }

  /**
   * Fills in the events between the last one of a log and the next one that A2A
   * shows.
   */
  #hiddenBefore(sequence: bigint): TaskEvent[] {
    const { sequence: last, taskId, contextId, sent } = this.#position;
    if (sequence === 0n || sent || last === 0n) return [];
    const hidden = create(TaskEventSchema, {
      taskId,
      contextId,
      state: TaskState.WORKING,
    });
    const count = Math.max(0, Number(sequence - last) - 1);
    return Array.from({ length: count }, () => this.#number(hidden, 0n));
  }

  /**
   * Returns the doubt, and what was left out, as notices.
   */
  #notices(): TaskEvent[] {
    const { taskId, contextId, state } = this.#position;
    const reasons = this.#leftOut.map(
      (why) => `the agent sent something that is left out here: ${why}`,
    );
    const texts = this.#doubt === "" ? reasons : [this.#doubt, ...reasons];
    this.#leftOut = [];
    this.#doubt = "";
    return texts.map((text) => {
      const notice = create(TaskEventSchema, {
        taskId,
        contextId,
        state: isAtRest(state) ? TaskState.WORKING : state,
        payload: { case: "notice", value: { text } },
      });
      return this.#number(notice, 0n);
    });
  }

  /**
   * Gives an event its sequence, or the next one if that is taken or 0.
   */
  #number(event: TaskEvent, sequence: bigint): TaskEvent {
    const { sequence: last } = this.#position;
    const numbered = {
      ...event,
      sequence: sequence > last ? sequence : last + 1n,
    };
    this.#position = numbered;
    return numbered;
  }
}

/** The form of ids that may be sequences. */
const SEQUENCE = /^\d{1,18}$/;

/**
 * The event that ends the exchange: `end` if no frame follows, `last` whatever
 * follows.
 */
interface Ending {
  readonly end?: TaskEvent | undefined;
  readonly last?: TaskEvent | undefined;
}

interface Decoded extends FrameEvents {
  /**
   * The sequence of the first event. 0 if the frame has none.
   */
  readonly sequence: bigint;
  readonly kind: JsonValue | undefined;
}
