import type { DescMessage } from "@bufbuild/protobuf";
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { WireError } from "@devtool/schema";

/**
 * Maximum number of fields in a binary message: as many as a `Struct` with
 * 50,000 values has.
 */
const MAX_FIELDS = 250_000;

/** Maximum depth, the same as the decoder's. */
const MAX_DEPTH = 100;

/**
 * Returns the scope of the messages in a field, by its number. Undefined if the
 * field holds no messages.
 */
type Scope = (number: number) => Scope | undefined;

/**
 * Limits the number of fields of a binary message, at any depth, to 250,000,
 * before it is decoded.
 *
 * An empty message takes two bytes on the wire, but far more in memory. Throws
 * a `WireError` with the limit. Malformed bytes are left to the decoder, which
 * fails at the same place.
 */
export function assertBinaryBudget(
  schema: DescMessage,
  bytes: Uint8Array,
): void {
  try {
    countFields(
      {
        reader: new BinaryReader(bytes),
        end: bytes.length,
        scope: scopeOf(schema),
        depth: 1,
      },
      0,
    );
  } catch (reason) {
    if (reason instanceof WireError) throw reason;
  }
}

interface Nested {
  readonly reader: BinaryReader;
  /** Position after the end of the message. */
  readonly end: number;
  readonly scope: Scope;
  readonly depth: number;
}

/** Adds the number of fields of a message to the number counted before it. */
function countFields(
  { reader, end, scope, depth }: Nested,
  before: number,
): number {
  if (depth > MAX_DEPTH) throw new RangeError("nested too deep");
  let count = before;
  while (reader.pos < end) {
    count++;
    if (count > MAX_FIELDS) {
      throw new WireError(
        "",
        "",
        `the message holds more than ${MAX_FIELDS} fields: limit is ${MAX_FIELDS}`,
      );
    }
    const [number, wireType] = reader.tag();
    const inner =
      wireType === WireType.LengthDelimited ? scope(number) : undefined;
    if (inner === undefined) {
      reader.skip(wireType, number);
      continue;
    }
    const length = reader.uint32();
    count = countFields(
      { reader, end: reader.pos + length, scope: inner, depth: depth + 1 },
      count,
    );
  }
  if (reader.pos !== end) {
    throw new RangeError("a field ends behind its message");
  }
  return count;
}

function scopeOf({ fields }: DescMessage): Scope {
  return (number) => {
    const field = fields.find((each) => each.number === number);
    if (!field?.message) return undefined;
    const inner = scopeOf(field.message);
    // A map entry is a message with the key as field 1 and the value as
    // field 2.
    return field.fieldKind === "map"
      ? (part) => (part === MAP_VALUE ? inner : undefined)
      : inner;
  };
}

const MAP_VALUE = 2;
