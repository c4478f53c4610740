import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { EventRowSchema, type TaskEvent } from "@devtool/schema";
import { Code, DevtoolError } from "../errors.ts";

/** Encodes events as one row. */
export function encodeRow(events: readonly TaskEvent[]): Uint8Array {
  return toBinary(EventRowSchema, create(EventRowSchema, { events: [...events] }));
}

/** A row of the log: consecutive events of one task. */
export interface EventRow {
  /** The sequence of the last event. */
  readonly sequence: bigint;
  readonly data: Uint8Array;
}

/** The maximum size in bytes of a row with several events. A row is read as a whole. */
const MAX_ROW_BYTES = 256 * 1024;

/** Encodes the events of one append as one row, or as several when one would exceed `MAX_ROW_BYTES`. */
export function encodeRows(events: readonly TaskEvent[]): EventRow[] {
  const last = events.at(-1);
  if (!last) return [];
  const data = encodeRow(events);
  if (events.length === 1 || data.length <= MAX_ROW_BYTES) return [{ sequence: last.sequence, data }];
  const middle = Math.ceil(events.length / 2);
  return [...encodeRows(events.slice(0, middle)), ...encodeRows(events.slice(middle))];
}

/** Decodes the events of a row. Throws `Code.DataLoss` for a row that is damaged. */
export function decodeRow(data: unknown): TaskEvent[] {
  if (!(data instanceof Uint8Array)) throw dataLoss(undefined);
  try {
    const { events, $unknown: strange } = fromBinary(EventRowSchema, data);
    if (events.length === 0 || strange) throw new Error("the row holds something else than events");
    return events;
  } catch (reason) {
    throw dataLoss(reason);
  }
}

function dataLoss(cause: unknown): DevtoolError {
  const remedy = "restore the store from a backup";
  return new DevtoolError("the store holds a row that is not an event", Code.DataLoss, { remedy, cause });
}
