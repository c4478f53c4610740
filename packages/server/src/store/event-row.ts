import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  EventRowSchema,
  type TaskEvent,
  TaskEventSchema,
  type TaskState,
} from "@devtool/schema";
import { Code, DevtoolError } from "../errors.ts";

/** Encodes events as one row. */
export function encodeRow(events: readonly TaskEvent[]): Uint8Array {
  return toBinary(
    EventRowSchema,
    create(EventRowSchema, { events: [...events] }),
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
