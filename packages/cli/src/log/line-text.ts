import {
  create,
  type MessageInitShape,
  toJsonString,
} from "@bufbuild/protobuf";
import { timestampDate, timestampFromMs } from "@bufbuild/protobuf/wkt";
import { shorten } from "@devtool/internal/cut-text";
import { oneLine, visibleJson } from "@devtool/internal/visible-text";
import { type LogLine, LogLineSchema } from "@devtool/schema/operator";
import type { Paint } from "../render/style.ts";
import type { Line } from "./log-lines.ts";

/** The maximum length of a name that comes from outside, in characters. */
const MAX_NAME = 200;

/** The maximum length of the text of an error or a notice, in characters. */
const MAX_PROBLEM = 2000;

/** Writes a line, without its line break. */
export type LineText = (line: LogLine) => string;

/** Returns a line with its time, whose texts are not longer than they may be. */
export function boundedLine(line: Line, nowMs: number): LogLine {
  // Nearly all lines are short, and each turn has three.
  const bounded = Object.values(line).some(isLong) ? shortened(line) : line;
  return create(LogLineSchema, { ...bounded, time: timestampFromMs(nowMs) });
}

function isLong(value: unknown): boolean {
  return typeof value === "string" && value.length > MAX_NAME;
}

function shortened(line: Line): MessageInitShape<typeof LogLineSchema> {
  const bounded = Object.entries(line).map(([name, value]) => [
    name,
    typeof value === "string"
      ? shorten(value, name === "problem" ? MAX_PROBLEM : MAX_NAME)
      : value,
  ]);
  return Object.fromEntries(bounded);
}

/** Writes a line as JSON, with characters that deceive as escapes of JSON. */
export const jsonText: LineText = (line) =>
  visibleJson(toJsonString(LogLineSchema, line).toWellFormed());

/** Returns what writes lines for people. */
export function prettyText(paint: Paint): LineText {
  return ({ time, level, event, stack, ...rest }) => {
    const at = time ? clockTime(timestampDate(time)) : "";
    const look =
      level === "error" ? "bad" : level === "warn" ? "warning" : "dim";
    const fields = LogLineSchema.fields.flatMap(({ name, localName }) => {
      const value: unknown = Reflect.get(rest, localName);
      return isEmpty(value)
        ? []
        : [`${paint("dim", `${name}=`)}${valueText(value)}`];
    });
    const head = `${paint("dim", at)} ${paint(look, level.padEnd(5))} ${event}`;
    const frames = stack.map((frame) => `    ${oneLine(frame, MAX_NAME)}`);
    return [[head, ...fields].join(" "), ...frames].join("\n");
  };
}

function isEmpty(value: unknown): boolean {
  return value === undefined || value === "" || value === 0;
}

/** Returns a value on one line: in quotes, unless it is a plain word. */
function valueText(value: unknown): string {
  const text = oneLine(String(value), MAX_PROBLEM);
  return /^[^\s"=]+$/.test(text) ? text : JSON.stringify(text);
}

/** Returns a local time of day, such as `21:14:03.120`. */
function clockTime(date: Date): string {
  const [hours, minutes, seconds] = [
    date.getHours(),
    date.getMinutes(),
    date.getSeconds(),
  ].map((part) => String(part).padStart(2, "0"));
  const ms = String(date.getMilliseconds()).padStart(3, "0");
  return `${hours}:${minutes}:${seconds}.${ms}`;
}
