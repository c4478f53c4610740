import { hash } from "node:crypto";
import { create, type JsonValue, toJson } from "@bufbuild/protobuf";
import { ConfirmationRequestSchema, type ToolCall } from "@devtool/schema";
import type { ToolInvocation } from "./tool.ts";

/** What a call would do, as text: the same for the same tool, arguments and proposal, whatever the order of keys. */
function canonicalCall({ toolName }: ToolCall, { args, confirmation }: ToolInvocation): string {
  return canonicalJson({ tool: toolName, args, details: confirmation ? detailsOf(confirmation) : {} });
}

function detailsOf(details: NonNullable<ToolInvocation["confirmation"]>): JsonValue {
  return toJson(ConfirmationRequestSchema, create(ConfirmationRequestSchema, { details }));
}

/** The SHA-256 of what a call would do: an approval holds for this and nothing else (S13). */
export function callDigest(call: ToolCall, invocation: ToolInvocation): Uint8Array {
  return hash("sha256", canonicalCall(call, invocation), "buffer");
}

/** JSON with the keys of every object in order, so that equal values are equal texts. */
export function canonicalJson(value: JsonValue): string {
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  const entries = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return `{${entries.map(([key, item]) => `${JSON.stringify(key)}:${canonicalJson(item)}`).join(",")}}`;
}
