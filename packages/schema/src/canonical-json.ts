import type { JsonValue } from "@bufbuild/protobuf";
import { isObject } from "./rfc-json.ts";

/** Writes JSON in its canonical form (RFC 8785): names in the order of their UTF-16 code units, no blanks. */
export function canonicalJson(value: JsonValue): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (!isObject(value)) return JSON.stringify(value);
  const names = Object.keys(value).sort();
  return `{${names.map((name) => `${JSON.stringify(name)}:${canonicalJson(value[name] ?? null)}`).join(",")}}`;
}
