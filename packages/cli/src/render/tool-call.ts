import { oneLine, visibleText } from "@devtool/internal/visible-text";
import { type ToolCall, ToolCallStatus } from "@devtool/schema";
import { gutterLines, type ScreenSize } from "./gutter.ts";
import { type Look, type Paint, visible } from "./style.ts";

/** Maximum number of lines of a tool's output that are shown. */
const MAX_LINES = 20;
/** Maximum length of a call's name and description in characters. */
const MAX_DESCRIPTION_LENGTH = 300;

/**
 * Returns the line that shows the status of a call. One that begins with `?`
 * belongs to a question.
 */
export function toolCallLine(call: ToolCall, paint: Paint): string {
  const name = paint("heading", oneLine(call.toolName, MAX_DESCRIPTION_LENGTH));
  // A call that is pending and asks nothing waits for another one to end.
  const isWaiting =
    call.status === ToolCallStatus.PENDING &&
    call.confirmationRequest === undefined;
  const [look, sign] = MARKS.get(call.status) ?? ["dim", isWaiting ? "○" : "?"];
  const line =
    `${paint(look, sign)} ${name} ${oneLine(call.description ?? "", MAX_DESCRIPTION_LENGTH)}`.trimEnd();
  return isWaiting ? `${line} ${paint("dim", "(not started)")}` : line;
}

const MARKS: ReadonlyMap<ToolCallStatus, readonly [Look, string]> = new Map([
  [ToolCallStatus.SUCCEEDED, ["good", "✓"]],
  [ToolCallStatus.FAILED, ["bad", "✗"]],
  [ToolCallStatus.CANCELLED, ["dim", "-"]],
  [ToolCallStatus.EXECUTING, ["dim", "▸"]],
]);

/** Returns the lines of a finished call's result; none for an empty one. */
export function resultLines({ result }: ToolCall, paint: Paint): string[] {
  switch (result.case) {
    case "error":
      return outputLines(result.value.message, paint, "bad");
    case "output": {
      const output = result.value.result;
      if (output.case === "text") return outputLines(output.value, paint);
      return output.case === "structuredData"
        ? outputLines(JSON.stringify(output.value), paint)
        : [];
    }
    default:
      return [];
  }
}

/**
 * Returns the lines of a tool's output, shortened to 20, in a style. Default:
 * dim.
 */
export function outputLines(
  text: string,
  paint: Paint,
  look: Look = "dim",
): string[] {
  return gutterLines(visible(text), {
    maxLines: MAX_LINES,
    look: (line) => paint(look, line),
  });
}

/** How much of a question is shown. */
interface QuestionLimits {
  readonly screen: ScreenSize;
  /** Maximum number of lines of the command, diff or text in question. */
  readonly maxLines: number;
}

/**
 * Returns the lines of a call's question: its directory and command, its diff,
 * its arguments, or its text.
 */
export function questionLines(
  call: ToolCall,
  paint: Paint,
  { screen, maxLines }: QuestionLimits,
): string[] {
  const details = call.confirmationRequest?.details;
  const quoted = (
    text: string,
    look: (piece: string, line: string) => string,
  ): string[] =>
    gutterLines(visibleText(text), { maxLines, columns: screen.columns, look });
  switch (details?.case) {
    case "executeDetails": {
      const { command, workingDirectory } = details.value;
      const where =
        workingDirectory === undefined
          ? []
          : [`    in ${oneLine(workingDirectory)}`];
      return [
        ...where,
        ...quoted(`$ ${command.replaceAll("\n", "\n  ")}`, (line) => line),
      ];
    }
    case "fileEditDetails": {
      const { filePath, formattedDiff, newContent } = details.value;
      const paintPiece = (piece: string, line: string): string => {
        const look = diffLook(line);
        return look ? paint(look, piece) : piece;
      };
      return [
        `    ${oneLine(filePath)}`,
        ...quoted(formattedDiff || newContent, paintPiece),
      ];
    }
    case "mcpDetails":
      return [
        `    ${oneLine(details.value.toolName)} of the MCP server ${oneLine(details.value.serverName)}`,
        ...quoted(
          JSON.stringify(call.inputParameters ?? {}, undefined, 2),
          (line) => paint("dim", line),
        ),
      ];
    case "genericDetails":
      return quoted(details.value.description, (line) => line);
    default:
      return [];
  }
}

/** Returns the style of a line of a diff; undefined for a line of context. */
export function diffLook(line: string): Look | undefined {
  if (
    line.startsWith("+++") ||
    line.startsWith("---") ||
    line.startsWith("@@")
  ) {
    return "dim";
  }
  if (line.startsWith("+")) return "added";
  return line.startsWith("-") ? "removed" : undefined;
}
