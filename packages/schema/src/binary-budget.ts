import type { DescMessage } from "@bufbuild/protobuf";
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { WireError } from "./wire-error.ts";

/** The number of fields a binary message may hold: as many as 50,000 values in a `Struct` take. */
const MAX_FIELDS = 250_000;

/** The depth at which the decoder gives up, too. */
const MAX_DEPTH = 100;

/** Returns the messages in a field, by its number; undefined where the field holds none. */
type Scope = (number: number) => Scope | undefined;

/**
 * Bounds the number of fields of a binary message, at every depth, before it is decoded: an empty message takes two bytes
 * on the wire, and many times that in memory. Throws a `WireError` that gives the limit. Malformed bytes are left to the
 * decoder, which gives up at the same place.
 */
export function assertBinaryBudget(schema: DescMessage, bytes: Uint8Array): void {
  try {
    countFields({ reader: new BinaryReader(bytes), end: bytes.length, scope: scopeOf(schema), depth: 1 }, 0);
  } catch (reason) {
    if (reason instanceof WireError) throw reason;
  }
}

interface Nested {
  readonly reader: BinaryReader;
  /** The position behind the message. */
  readonly end: number;
  readonly scope: Scope;
  readonly depth: number;
}

/** Adds the fields of a message to those that were counted before it. */
function countFields({ reader, end, scope, depth }: Nested, before: number): number {
  if (depth > MAX_DEPTH) throw new RangeError("nested too deep");
  let count = before;
  while (reader.pos < end) {
    count++;
    if (count > MAX_FIELDS) {
      throw new WireError("", "", `the message holds more than ${MAX_FIELDS} fields: limit is ${MAX_FIELDS}`);
    }
    const [number, wireType] = reader.tag();
    const inner = wireType === WireType.LengthDelimited ? scope(number) : undefined;
    if (inner === undefined) {
      reader.skip(wireType, number);
      continue;
    }
    const length = reader.uint32();
    count = countFields({ reader, end: reader.pos + length, scope: inner, depth: depth + 1 }, count);
  }
  if (reader.pos !== end) throw new RangeError("a field ends behind its message");
  return count;
}

function scopeOf({ fields }: DescMessage): Scope {
  return (number) => {
    const field = fields.find((each) => each.number === number);
    if (!field?.message) return undefined;
    const inner = scopeOf(field.message);
    // An entry of a map is a message of its own: the key as 1, the value as 2.
    return field.fieldKind === "map" ? (part) => (part === MAP_VALUE ? inner : undefined) : inner;
  };
}

const MAP_VALUE = 2;
