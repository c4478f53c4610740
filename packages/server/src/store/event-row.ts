import {
  create,
  fromBinary,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  EventRowSchema,
  type TaskEvent,
  TaskEventSchema,
  type TaskState,
  TextContentSchema,
} from "@devtool/schema";
import { Code, DevtoolError } from "../errors.ts";

/**
 * Encodes events as one row, in the form of the message EventRow.
 *
 * The pieces of a text are most of what is stored. Those that were recorded
 * together have everything but their sequence and text in common, which is
 * encoded once.
 */
export function encodeRow(events: readonly TaskEvent[]): Uint8Array {
  const pieces = events.filter((event) => pieceOf(event) !== undefined);
  if (pieces.length < 2) return toBinary(EventRowSchema, rowOf(events));
  const writer = new BinaryWriter();
  let shared: Shared | undefined;
  for (const event of events) {
    const text = pieceOf(event);
    if (text === undefined) {
      // Fields that are repeated add up when messages are joined.
      writer.raw(toBinary(EventRowSchema, rowOf([event])));
      continue;
    }
    if (!shared || !isAlike(shared.event, event)) shared = sharedOf(event);
    writer.tag(EVENTS, WireType.LengthDelimited).fork();
    writer.raw(shared.data);
    writer.tag(SEQUENCE, WireType.Varint).int64(event.sequence);
    writer.tag(TEXT, WireType.LengthDelimited).fork();
    writer.tag(TEXT_OF_CONTENT, WireType.LengthDelimited);
    writer.string(text).join().join();
  }
  return writer.finish();
}

function rowOf(
  events: readonly TaskEvent[],
): MessageShape<typeof EventRowSchema> {
  return create(EventRowSchema, { events: [...events] });
}

/**
 * Returns the text of an event that is a piece of a text and has no unknown
 * field; undefined for any other event.
 */
function pieceOf({ payload, $unknown }: TaskEvent): string | undefined {
  if (payload.case !== "text" || payload.value.$unknown || $unknown) {
    return undefined;
  }
  return payload.value.text;
}

const EVENTS = EventRowSchema.field.events.number;
const SEQUENCE = TaskEventSchema.field.sequence.number;
const TEXT = TaskEventSchema.field.text.number;
const TEXT_OF_CONTENT = TextContentSchema.field.text.number;

/** What pieces of a text have in common, encoded. */
interface Shared {
  /** The first of them. */
  readonly event: TaskEvent;
  readonly data: Uint8Array;
}

function sharedOf(event: TaskEvent): Shared {
  const rest = { ...event, sequence: 0n, payload: { case: undefined } };
  return { event, data: toBinary(TaskEventSchema, rest) };
}

/**
 * Whether two pieces of a text differ in their sequence and text alone. A test
 * compares all fields.
 */
function isAlike(one: TaskEvent, other: TaskEvent): boolean {
  return (
    one.taskId === other.taskId &&
    one.contextId === other.contextId &&
    one.time === other.time &&
    one.state === other.state &&
    one.model === other.model &&
    one.toolCallDetail === other.toolCallDetail &&
    one.extensionActive === other.extensionActive &&
    one.agentSessionId === other.agentSessionId &&
    one.approvalMode === other.approvalMode &&
    one.userTier === other.userTier &&
    one.goalState === other.goalState &&
    one.mcpServersAdded === other.mcpServersAdded
  );
}

/** A row of the log: consecutive events of one task. */
export interface EventRow {
  /** The sequence of the last event. */
  readonly sequence: bigint;
  readonly data: Uint8Array;
}

/**
 * The maximum size in bytes of a row with several events. A row is read as a
 * whole.
 */
const MAX_ROW_BYTES = 256 * 1024;

/**
 * Encodes the events of one append as one row, or as several when one would
 * exceed `MAX_ROW_BYTES`.
 */
export function encodeRows(events: readonly TaskEvent[]): EventRow[] {
  const last = events.at(-1);
  if (!last) return [];
  const data = encodeRow(events);
  if (events.length === 1 || data.length <= MAX_ROW_BYTES) {
    return [{ sequence: last.sequence, data }];
  }
  const middle = Math.ceil(events.length / 2);
  return [
    ...encodeRows(events.slice(0, middle)),
    ...encodeRows(events.slice(middle)),
  ];
}

/**
 * Decodes the events of a row. Throws `Code.DataLoss` for a row that is
 * damaged.
 */
export function decodeRow(data: unknown): TaskEvent[] {
  if (!(data instanceof Uint8Array)) throw dataLoss(undefined);
  try {
    const { events, $unknown: strange } = fromBinary(EventRowSchema, data);
    if (events.length === 0 || strange) {
      throw new Error("the row holds something else than events");
    }
    return events;
  } catch (reason) {
    throw dataLoss(reason);
  }
}

/** The columns that a store keeps of the last event of a task. */
export interface LastColumns {
  readonly taskId: string;
  readonly contextId: string;
  readonly state: TaskState;
  /** The time of the event in milliseconds since 1970. */
  readonly timeMs: number;
  readonly sequence: bigint;
}

/**
 * Decodes the last event of a task from its row. For a row that is damaged or
 * missing, returns an event from the columns, with a notice that says so: one
 * damaged task must not make a list of others fail.
 */
export function lastEventOf(data: unknown, columns: LastColumns): TaskEvent {
  const { taskId, contextId, state, timeMs, sequence } = columns;
  try {
    const last = decodeRow(data).at(-1);
    if (last?.taskId === taskId && last.sequence === sequence) return last;
  } catch {
    // The notice says it.
  }
  const text =
    "the log of the task is damaged: restore the store from a backup";
  const payload = { case: "notice", value: { text } } as const;
  return create(TaskEventSchema, {
    taskId,
    contextId,
    state,
    sequence,
    time: timestampFromMs(timeMs),
    payload,
  });
}

function dataLoss(cause: unknown): DevtoolError {
  const remedy = "restore the store from a backup";
  return new DevtoolError(
    "the store holds a row that is not an event",
    Code.DataLoss,
    { remedy, cause },
  );
}
