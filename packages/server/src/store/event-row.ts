import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { EventRowSchema, type TaskEvent } from "@devtool/schema";
import { Code, DevtoolError } from "../errors.ts";

/** Writes the events of one append as one row. */
export function encodeRow(events: readonly TaskEvent[]): Uint8Array {
  return toBinary(EventRowSchema, create(EventRowSchema, { events: [...events] }));
}

/** Reads the events of a row. Throws `Code.DataLoss` for one that holds anything else. */
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
  const problem = "the store holds a row that is no event: restore the file from a backup";
  return new DevtoolError(problem, Code.DataLoss, { cause });
}
