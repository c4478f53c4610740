import { readFile, stat } from "node:fs/promises";
import { create } from "@bufbuild/protobuf";
import {
  type Range,
  RangeSchema,
} from "../gen/devtool/ide/v1alpha/context_pb.ts";
import { MAX_CONTENT_BYTES } from "../limits.ts";

/** Which part of a file to select, by the texts at its start and its end. */
export interface TextRange {
  readonly startText?: string | undefined;
  readonly endText?: string | undefined;
  /** Whether the range ends with the line. */
  readonly selectToEndOfLine: boolean;
}

/**
 * Finds the first range of a saved file that begins with a text, and ends with
 * another one behind it. Undefined when the start is not there, and for files
 * that are too large to search.
 */
export async function rangeOfText(
  path: string,
  { startText = "", endText = "", selectToEndOfLine }: TextRange,
): Promise<Range | undefined> {
  if (startText === "") return undefined;
  const found = await stat(path).catch(() => undefined);
  if (!found?.isFile() || found.size > MAX_CONTENT_BYTES) return undefined;
  const text = await readFile(path, "utf8");
  const start = text.indexOf(startText);
  if (start < 0) return undefined;
  const behind = start + startText.length;
  const last = endText === "" ? -1 : text.indexOf(endText, behind);
  const end = last < 0 ? behind : last + endText.length;
  const lineEnd = text.indexOf("\n", end);
  const whole = lineEnd < 0 ? text.length : lineEnd;
  return create(RangeSchema, {
    start: positionAt(text, start),
    end: positionAt(text, selectToEndOfLine ? whole : end),
  });
}

function positionAt(text: string, index: number) {
  const before = text.slice(0, index);
  const line = before.split("\n").length - 1;
  return { line, character: index - (before.lastIndexOf("\n") + 1) };
}
