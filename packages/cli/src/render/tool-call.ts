import { type FileDiff, type ToolCall, ToolCallStatus } from "@devtool/schema";
import { type Paint, visible } from "./style.ts";

/** So many lines of a tool's output are shown. */
const MAX_LINES = 20;

/** The line that tells where a call is. */
export function toolCallLine(call: ToolCall, paint: Paint): string {
  const name = paint("heading", visible(call.toolName));
  return `${mark(call.status, paint)} ${name} ${visible(call.description ?? "")}`.trimEnd();
}

function mark(status: ToolCallStatus, paint: Paint): string {
  switch (status) {
    case ToolCallStatus.SUCCEEDED:
      return paint("good", "✓");
    case ToolCallStatus.FAILED:
      return paint("bad", "✗");
    case ToolCallStatus.CANCELLED:
      return paint("dim", "-");
    case ToolCallStatus.EXECUTING:
      return paint("dim", "▸");
    default:
      return paint("dim", "?");
  }
}

/** What a finished call gave, indented; nothing for one that gave nothing. */
export function resultLines({ result }: ToolCall, paint: Paint): string[] {
  switch (result.case) {
    case "error":
      return indented(visible(result.value.message), (line) => paint("bad", line));
    case "output":
      return outcomeLines(result.value.result, paint);
    default:
      return [];
  }
}

function outcomeLines(
  output: Extract<ToolCall["result"], { case: "output" }>["value"]["result"],
  paint: Paint,
): string[] {
  switch (output.case) {
    case "text":
      return outputLines(output.value, paint);
    case "structuredData":
      return outputLines(JSON.stringify(output.value), paint);
    default:
      return [];
  }
}

/** What a tool said, indented. */
export function outputLines(text: string, paint: Paint): string[] {
  return indented(visible(text), (line) => paint("dim", line));
}

function indented(text: string, look: (line: string) => string): string[] {
  const lines = text.trimEnd().split("\n");
  const shown =
    lines.length > MAX_LINES ? [...lines.slice(0, MAX_LINES), `[${lines.length - MAX_LINES} more lines]`] : lines;
  return text === "" ? [] : shown.map((line) => `    ${look(line)}`);
}

/** What a call asks about: the command, the coloured diff, or words. */
export function questionLines(call: ToolCall, paint: Paint): string[] {
  const details = call.confirmationRequest?.details;
  switch (details?.case) {
    case "executeDetails":
      return [`    ${paint("heading", "$")} ${visible(details.value.command)}`];
    case "fileEditDetails":
      return diffLines(details.value, paint);
    case "mcpDetails":
      return [
        `    ${visible(details.value.toolName)} of the MCP server ${visible(details.value.serverName)}`,
        ...outputLines(JSON.stringify(call.inputParameters ?? {}, undefined, 2), paint),
      ];
    case "genericDetails":
      return [`    ${visible(details.value.description)}`];
    default:
      return [];
  }
}

function diffLines({ formattedDiff, newContent }: FileDiff, paint: Paint): string[] {
  const lines = visible(formattedDiff ?? newContent)
    .trimEnd()
    .split("\n");
  return lines.map((line) => `    ${paintDiff(line, paint)}`);
}

function paintDiff(line: string, paint: Paint): string {
  if (line.startsWith("+++") || line.startsWith("---") || line.startsWith("@@")) return paint("dim", line);
  if (line.startsWith("+")) return paint("added", line);
  return line.startsWith("-") ? paint("removed", line) : line;
}
