import type { Writable } from "node:stream";
import {
  type DescMessage,
  type MessageShape,
  toJsonString,
} from "@bufbuild/protobuf";
import { visibleJson } from "@devtool/internal/visible-text";
import { isTerminal, writeLine } from "../io.ts";

/**
 * Writes a message as a line of JSON. At a terminal, control and invisible
 * characters are written as JSON escapes.
 */
export function writeJsonLine<Desc extends DescMessage>(
  out: Writable,
  schema: Desc,
  message: MessageShape<Desc>,
): void {
  writeJsonText(out, toJsonString(schema, message));
}

/** Writes a JSON text in the same way. */
export function writeJsonText(out: Writable, json: string): void {
  writeLine(out, isTerminal(out) ? visibleJson(json) : json);
}
