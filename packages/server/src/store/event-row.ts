import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { BinaryWriter, sizeDelimitedPeek } from "@bufbuild/protobuf/wire";
import { type TaskEvent, TaskEventSchema } from "@devtool/schema";
import { Code, DevtoolError } from "../errors.ts";

/** Writes the events of one append as one row: each with its size before it. */
export function encodeRow(events: readonly TaskEvent[]): Uint8Array {
  const writer = new BinaryWriter();
  for (const event of events) writer.bytes(toBinary(TaskEventSchema, event));
  return writer.finish();
}

/** Reads the events of a row. Throws `Code.DataLoss` for one that holds anything else. */
export function decodeRow(data: unknown): TaskEvent[] {
  if (!(data instanceof Uint8Array)) throw dataLoss(undefined);
  try {
    return [...eventsIn(data)];
  } catch (reason) {
    throw dataLoss(reason);
  }
}

function* eventsIn(data: Uint8Array): Iterable<TaskEvent> {
  for (let start = 0; start < data.length; ) {
    const { eof, offset, size } = sizeDelimitedPeek(data.subarray(start));
    const end = start + Number(offset) + Number(size);
    if (eof || end > data.length) throw new Error("the row ends in the middle of an event");
    yield fromBinary(TaskEventSchema, data.subarray(start + Number(offset), end));
    start = end;
  }
}

function dataLoss(cause: unknown): DevtoolError {
  const problem = "the store holds a row that is no event: restore the file from a backup";
  return new DevtoolError(problem, Code.DataLoss, { cause });
}
