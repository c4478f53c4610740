import { oneLine, type ToolCall, ToolCallStatus, visibleText } from "@devtool/schema";
import { gutterLines, type Screen } from "./gutter.ts";
import { type Paint, visible } from "./style.ts";

/** The maximum number of lines that are shown of a tool's output. */
const MAX_LINES = 20;
/** The maximum length of what a call says of itself, in characters. */
const MAX_DESCRIPTION_LENGTH = 300;

/** The line that tells where a call is. */
export function toolCallLine(call: ToolCall, paint: Paint): string {
  const name = paint("heading", oneLine(call.toolName, MAX_DESCRIPTION_LENGTH));
  return `${mark(call.status, paint)} ${name} ${oneLine(call.description ?? "", MAX_DESCRIPTION_LENGTH)}`.trimEnd();
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

/** What a finished call gave, set off; nothing for one that gave nothing. */
export function resultLines({ result }: ToolCall, paint: Paint): string[] {
  switch (result.case) {
    case "error":
      return toolLines(result.value.message, (line) => paint("bad", line));
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

/** What a tool said, set off. */
export function outputLines(text: string, paint: Paint): string[] {
  return toolLines(text, (line) => paint("dim", line));
}

function toolLines(text: string, look: (line: string) => string): string[] {
  return gutterLines(visible(text), { maxLines: MAX_LINES, look });
}

/** How a question is shown. */
export interface QuestionView {
  readonly screen: Screen;
  /** The maximum number of lines of what is asked about. */
  readonly maxLines: number;
}

/** What a call asks about: where and what it runs, the coloured diff, or words. */
export function questionLines(call: ToolCall, paint: Paint, { screen, maxLines }: QuestionView): string[] {
  const details = call.confirmationRequest?.details;
  const quoted = (text: string, look: (piece: string, line: string) => string): string[] =>
    gutterLines(visibleText(text), { maxLines, columns: screen.columns, look });
  switch (details?.case) {
    case "executeDetails": {
      const { command, workingDirectory } = details.value;
      const where = workingDirectory === undefined ? [] : [`    in ${oneLine(workingDirectory)}`];
      return [...where, ...quoted(`$ ${command.replaceAll("\n", "\n  ")}`, (line) => line)];
    }
    case "fileEditDetails": {
      const { filePath, formattedDiff, newContent } = details.value;
      return [
        `    ${oneLine(filePath)}`,
        ...quoted(formattedDiff ?? newContent, (piece, line) => paintDiff(piece, { line, paint })),
      ];
    }
    case "mcpDetails":
      return [
        `    ${oneLine(details.value.toolName)} of the MCP server ${oneLine(details.value.serverName)}`,
        ...quoted(JSON.stringify(call.inputParameters ?? {}, undefined, 2), (line) => paint("dim", line)),
      ];
    case "genericDetails":
      return quoted(details.value.description, (line) => line);
    default:
      return [];
  }
}

function paintDiff(piece: string, { line, paint }: { readonly line: string; readonly paint: Paint }): string {
  if (line.startsWith("+++") || line.startsWith("---") || line.startsWith("@@")) return paint("dim", piece);
  if (line.startsWith("+")) return paint("added", piece);
  return line.startsWith("-") ? paint("removed", piece) : piece;
}
