import {
  type DescField,
  type DescMessage,
  type JsonValue,
  ScalarType,
} from "@bufbuild/protobuf";
import { isObject } from "@devtool/internal/json";
import { findField } from "./rfc-json-mistake.ts";
import { quote, WireError } from "./wire-error.ts";

/**
 * Throws a `WireError` for JSON text with a string in a field for an integer
 * that is not one in decimal digits, such as `"0x5"` and `" 5"`: ProtoJSON has
 * no other, though a lenient parser reads them.
 *
 * Text that is not valid JSON is left to the parser.
 */
export function assertPlainIntegers(schema: DescMessage, text: string): void {
  if (!LAX_INTEGER.test(text)) return;
  let json: JsonValue;
  try {
    json = JSON.parse(text);
  } catch {
    return;
  }
  assertIntegersIn(schema, json);
}

/** A string that a lenient parser may read as a number. */
const LAX_INTEGER = /"(?:\s|\\[tnr]|[+-]?0[\dxXbBoO]|\+|-?\d[^"]*\s")/;
const PLAIN_INTEGER = /^-?(?:0|[1-9]\d*)(?:\.0+)?(?:[eE][+-]?\d+)?$/;

const INTEGERS: ReadonlySet<ScalarType> = new Set([
  ...[ScalarType.INT32, ScalarType.UINT32, ScalarType.SINT32],
  ...[ScalarType.INT64, ScalarType.UINT64, ScalarType.SINT64],
  ...[ScalarType.FIXED32, ScalarType.SFIXED32],
  ...[ScalarType.FIXED64, ScalarType.SFIXED64],
]);

function assertIntegersIn(schema: DescMessage, json: JsonValue): void {
  if (!isObject(json) || schema.typeName.startsWith("google.protobuf.")) return;
  for (const [key, value] of Object.entries(json)) {
    const field = findField(schema, key);
    if (!field) continue;
    assertIntegersOf(field, value);
    if (!field.message) continue;
    for (const item of itemsOf(field, value)) {
      assertIntegersIn(field.message, item);
    }
  }
}

/**
 * Throws a `WireError` for the value of a field for integers that holds a
 * string other than one of decimal digits. Fields of messages are not entered.
 */
export function assertIntegersOf(field: DescField, value: JsonValue): void {
  if (field.scalar === undefined || !INTEGERS.has(field.scalar)) return;
  for (const item of itemsOf(field, value)) {
    if (typeof item === "string" && !PLAIN_INTEGER.test(item)) {
      const problem = "is not an integer: give digits";
      throw new WireError(field.jsonName, quote(item), problem);
    }
  }
}

function itemsOf(field: DescField, value: JsonValue): readonly JsonValue[] {
  return field.fieldKind === "map" && isObject(value)
    ? Object.values(value)
    : [value].flat();
}
