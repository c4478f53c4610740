import {
  type DescMessage,
  fromBinary,
  type MessageShape,
} from "@bufbuild/protobuf";
import { Code, DevtoolError } from "@devtool/server/store";

/**
 * The maximum size in bytes of a value that is read from a table. What servers
 * write is far smaller.
 */
const MAX_VALUE_BYTES = 64 * 1024 * 1024;

/**
 * Returns the SQL of a column whose value is null where it is too large.
 *
 * The driver makes a string of each value (two characters for a byte). A value
 * of more than 256 MiB, which PostgreSQL holds, is longer than any string may
 * be: the driver throws where nobody can catch, so one such row would end every
 * server that reads it.
 */
export function bounded(column: string): string {
  return `CASE WHEN octet_length(${column}) <= ${MAX_VALUE_BYTES} THEN ${column} END`;
}

/**
 * Decodes a value that was read. Throws `Code.DataLoss` for one that is too
 * large (null) or that no server wrote.
 */
export function decodeStored<Desc extends DescMessage>(
  schema: Desc,
  data: Uint8Array | null,
  table: string,
): MessageShape<Desc> {
  try {
    if (data) return fromBinary(schema, data);
  } catch (cause) {
    throw dataLoss(table, cause);
  }
  throw dataLoss(table, undefined);
}

function dataLoss(table: string, cause: unknown): DevtoolError {
  const remedy = "restore the database from a backup";
  return new DevtoolError(
    `table "${table}" holds a row that no server wrote`,
    Code.DataLoss,
    { remedy, cause },
  );
}
