import type { TaskItem, TaskSnapshot } from "@devtool/client";
import {
  type AgentThought,
  isAtRest,
  isEnded,
  type Part,
  Role,
  type ToolCall,
  type ToolCallAnswerer,
} from "@devtool/schema";
import stringWidth from "string-width";
import wrapAnsi from "wrap-ansi";
import { answerLine } from "../choice.ts";
import {
  type LineStyle,
  type Paint,
  visible,
  visibleName,
} from "../render/style.ts";
import { toolCallLine } from "../render/tool-call.ts";
import { partLines } from "../render/transcript.ts";
import { diffLines } from "./diff-lines.ts";
import { frameLines } from "./framed-lines.ts";
import { renderMarkdown } from "./markdown.ts";

/**
 * A finished part of the conversation. It is printed once and then belongs to
 * the terminal's scrollback.
 */
export interface Entry {
  readonly key: string;
  readonly lines: readonly string[];
  /** All of the lines, if `lines` leaves some out. */
  readonly whole?: readonly string[];
}

/** Maximum number of lines of a tool's output that are shown at once. */
const MAX_OUTPUT_LINES = 12;

/**
 * Marks the beginning of a text of the agent. All of its lines are indented, so
 * that none can pass for one of this program.
 */
const AGENT_MARK = "● ";

/**
 * Returns whether an item of a task will not change any more. Text may still
 * grow at the end of a task that works.
 */
export function isFinished(
  item: TaskItem,
  { task, items }: TaskSnapshot,
): boolean {
  const { content } = item.part;
  if (content.case === "toolCall") return isEnded(content.value);
  const mayGrow = content.case === "text" && item.role !== Role.USER;
  return !mayGrow || item !== items.at(-1) || isAtRest(task.state);
}

/**
 * Returns the entry of a finished item, except for a text of the agent;
 * undefined for one that shows nothing.
 */
export function entryOf(
  { key, part, role }: TaskItem,
  style: LineStyle,
): Entry | undefined {
  const { content } = part;
  const { paint, columns } = style;
  switch (content.case) {
    case "text":
      return role === Role.USER
        ? userEntry(key, part, style)
        : { key, lines: textLines(content.value, "first", style) };
    case "thought":
      return thoughtEntry(key, content.value, style);
    case "toolCall":
      return withAnswerer(
        callEntry(key, content.value, style),
        part.toolCallDetail?.answerer,
        style,
      );
    case "confirmation":
      return {
        key,
        lines: [paint("dim", answerLine(content.value.selectedOptionId))],
      };
    case "summary":
      return {
        key,
        lines: [paint("dim", "· the earlier conversation was summarized")],
      };
    case "citation": {
      const { uri, title, license } = content.value;
      const source = [title, uri, license && `(${license})`]
        .filter((word) => word !== "")
        .join(" ");
      return { key, lines: [paint("dim", `· source: ${visibleName(source)}`)] };
    }
    case undefined:
      return undefined;
    default: {
      const lines = partLines([part]).map((line) =>
        role === Role.USER ? `  · attached: ${line}` : `  ${line}`,
      );
      return { key, lines: lines.flatMap((line) => wrapLine(line, columns)) };
    }
  }
}

/** Returns the entry of the user's words; long ones are folded. */
function userEntry(key: string, part: Part, style: LineStyle): Entry {
  const whole = userLines(part, style);
  if (whole.length <= MAX_OUTPUT_LINES) return { key, lines: whole };
  const first = whole.slice(0, 3);
  const rest = `  [${whole.length - first.length} more lines: Ctrl-O]`;
  return { key, lines: [...first, style.paint("dim", rest)], whole };
}

/** Returns the entry of a thought; one of three lines or more is folded. */
function thoughtEntry(
  key: string,
  { subject, description }: AgentThought,
  { paint, columns }: LineStyle,
): Entry {
  const text = visible(`${subject}: ${description}`);
  const [begin = "", ...rest] = wrapAnsi(text, columns - 4, {
    hard: true,
  }).split("\n");
  const first = paint("dim", `… ${begin}`);
  const whole = [first, ...rest.map((line) => paint("dim", `    ${line}`))];
  if (rest.length < 2) return { key, lines: whole };
  const fold = paint("dim", `    [${rest.length} more lines: Ctrl-O]`);
  return { key, lines: [first, fold], whole };
}

/**
 * Returns the lines of a text of the agent, or of its continuation: Markdown,
 * with a blank line after each block.
 */
export function textLines(
  text: string,
  place: "first" | "later",
  { paint, columns }: LineStyle,
): string[] {
  const blocks = renderMarkdown(text, {
    paint,
    columns: columns - AGENT_MARK.length,
  });
  const lines = blocks.flatMap((block) => [...block, ""]);
  return lines.map((line, index) => {
    if (line === "") return "";
    return index === 0 && place === "first"
      ? `${AGENT_MARK}${line}`
      : `  ${line}`;
  });
}

/** Returns the lines of the user's own words. They are not Markdown. */
export function userLines(
  { content, fileName }: Part,
  { paint, columns }: LineStyle,
): string[] {
  const text = content.case === "text" ? content.value : "";
  if (fileName !== "") {
    return [paint("dim", `  · attached: ${visibleName(fileName)}`)];
  }
  const lines = wrapAnsi(visible(text), columns - 2, {
    hard: true,
    trim: false,
  }).split("\n");
  return lines.map((line, index) =>
    index === 0 ? paint("heading", `> ${line}`) : paint("heading", `  ${line}`),
  );
}

/** Returns the entry of a call that has ended: its line, and what it gave. */
export function callEntry(
  key: string,
  call: ToolCall,
  style: LineStyle,
): Entry {
  const { columns } = style;
  const first = wrapLine(toolCallLine(call, style.paint), columns);
  const output = outputOf(call, style.paint);
  const lines = [
    ...first,
    ...frameLines(output, { columns, maxLines: MAX_OUTPUT_LINES }),
  ];
  const whole = [
    ...first,
    ...frameLines(output, { columns, maxLines: Number.POSITIVE_INFINITY }),
  ];
  if (whole.length === lines.length) return { key, lines };
  // The line that counts the rest names the key that shows it.
  return {
    key,
    lines: lines.map((line) =>
      line.replace(/^( {2}⋮ \[\d+ more lines?)\]$/, "$1: Ctrl-O]"),
    ),
    whole,
  };
}

/** Says below a call that was answered elsewhere who answered, and where. */
function withAnswerer(
  entry: Entry,
  answerer: ToolCallAnswerer | undefined,
  { paint, columns }: LineStyle,
): Entry {
  if (!answerer) return entry;
  const { principal, clientLabel } = answerer;
  const where = clientLabel && ` (${visibleName(clientLabel)})`;
  const line = `  · answered by ${visibleName(principal)}${where}`;
  const said = wrapLine(paint("dim", line), columns);
  return {
    ...entry,
    lines: [...entry.lines, ...said],
    ...(entry.whole && { whole: [...entry.whole, ...said] }),
  };
}

/** Returns the line of a call that runs, and the end of its output. */
export function runningLines(
  call: ToolCall,
  { paint, columns }: LineStyle,
): string[] {
  const live = visible(call.liveContent ?? "").trimEnd();
  const output = live === "" ? [] : live.split("\n").slice(-MAX_OUTPUT_LINES);
  const framed = frameLines(
    output.map((line) => paint("dim", line)),
    { columns, maxLines: Number.POSITIVE_INFINITY },
  );
  return [
    ...wrapLine(toolCallLine(call, paint), columns),
    ...framed.slice(-MAX_OUTPUT_LINES),
  ];
}

function outputOf({ result }: ToolCall, paint: Paint): string[] {
  if (result.case === "error") {
    return painted(result.value.message, (line) => paint("bad", line));
  }
  const output = result.case === "output" ? result.value.result : undefined;
  switch (output?.case) {
    case "text":
      return painted(output.value, (line) => paint("dim", line));
    case "structuredData":
      return painted(JSON.stringify(output.value), (line) =>
        paint("dim", line),
      );
    case "diff":
      return output.value.formattedDiff === undefined
        ? []
        : diffLines(output.value.formattedDiff, paint);
    default:
      return [];
  }
}

function painted(text: string, paintLine: (line: string) => string): string[] {
  const shown = visible(text).trimEnd();
  return shown === "" ? [] : shown.split("\n").map(paintLine);
}

/** Breaks a line between its parts, where it is too long. */
export function breakBetween(
  line: string,
  separator: string,
  columns: number,
): string[] {
  const lines: string[] = [];
  for (const part of line.split(separator)) {
    const longer = `${lines.at(-1)}${separator}${part}`;
    const fits = lines.length > 0 && stringWidth(longer) <= columns;
    if (fits) lines.pop();
    lines.push(fits ? longer : part);
  }
  return lines;
}

/**
 * Wraps a line at the width of the terminal. The lines that continue it are
 * indented by four more columns.
 */
export function wrapLine(line: string, columns: number): string[] {
  const [indent] = /^ */.exec(line) ?? [""];
  const width = Math.max(10, columns - indent.length - 4);
  const pieces = wrapAnsi(line.slice(indent.length), width, {
    hard: true,
  }).split("\n");
  return pieces.map((piece, index) =>
    index === 0 ? `${indent}${piece}` : `${indent}    ${piece}`,
  );
}
