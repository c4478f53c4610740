import {
  oneLine,
  quotedLines,
  quotedText,
} from "@devtool/internal/visible-text";
import type { ToolCall } from "../gen/devtool/a2a/v1alpha/tool_call_pb.ts";
import type { TaskEvent } from "../gen/devtool/v1alpha/task_event_pb.ts";
import { OPTION_PROCEED_ONCE } from "../tool-call.ts";
import { citationText } from "./part.ts";

/**
 * Renders an event for clients without the extension (CARD-3).
 *
 * Returns its text, and the questions that the task waits for in words. An
 * empty string shows only the state; undefined shows nothing.
 */
export function plainText({ payload }: TaskEvent): string | undefined {
  switch (payload.case) {
    case "text":
      return payload.value.text;
    case "citation":
      return citationText(payload.value);
    case "notice":
      return payload.value.text;
    case "stateChange":
      return stateInWords(
        [payload.value.error, payload.value.text],
        payload.value.openCalls,
      );
    case "message":
      return "";
    case "messageQueued":
      return stateInWords([], payload.value.openCalls);
    case "reply":
      return payload.value.parts
        .map(({ content }) => (content.case === "text" ? content.value : ""))
        .join("");
    default:
      return undefined;
  }
}

/**
 * Joins the texts that explain a state and the questions of its open calls,
 * with how to answer each, as paragraphs.
 */
export function stateInWords(
  texts: readonly string[],
  openCalls: readonly ToolCall[],
): string {
  const questions = openCalls.map((call) => {
    const { options = [] } = call.confirmationRequest ?? {};
    const choices = options.map(({ id, name, description }) => {
      const label = oneLine(
        description === undefined ? name : `${name}: ${description}`,
      );
      return `${oneLine(id)} (${label})`;
    });
    const hasYes = options.some(({ id }) => id === OPTION_PROCEED_ONCE);
    const answers = hasYes ? "yes or no, or with one of" : "no, or with one of";
    return `${renderAsked(call)}\nAnswer ${answers}: ${choices.join(", ")}`;
  });
  return [...texts, ...questions].filter((words) => words !== "").join("\n\n");
}

/**
 * Maximum number of lines that a question shows of a command, a change or a
 * description.
 */
const MAX_LINES = 200;
/** Maximum number of lines that a question shows of a tool's arguments. */
const MAX_ARGUMENT_LINES = 40;

/**
 * Renders what a tool call asks: all that its approval would do.
 *
 * Text from the tool, the model or an MCP server is put on a single line or
 * behind `│`, so that it cannot forge a line of the question.
 */
export function renderAsked(call: ToolCall): string {
  return render(call, quotedLines);
}

/**
 * Renders what a tool call asks as `renderAsked` does, and shortens nothing of
 * its details: for a client that shows this text alone before it approves.
 */
export function renderWholeAsked(call: ToolCall): string {
  return render(call, quotedText);
}

type Quote = (text: string, maxLines: number) => string;

function render(call: ToolCall, quote: Quote): string {
  const about = oneLine(call.description ?? "");
  const asked = `May I call ${oneLine(call.toolName)}?${about === "" ? "" : ` ${about}`}`;
  return [asked, ...renderDetails(call, quote)].join("\n");
}

function renderDetails(
  { confirmationRequest, inputParameters = {} }: ToolCall,
  quote: Quote,
): string[] {
  const details = confirmationRequest?.details;
  switch (details?.case) {
    case "executeDetails": {
      const { command, workingDirectory } = details.value;
      const where =
        workingDirectory === undefined
          ? ""
          : ` in ${oneLine(workingDirectory)}`;
      return [`It runs${where}:`, quote(command, MAX_LINES)];
    }
    case "fileEditDetails": {
      const { filePath, formattedDiff, newContent } = details.value;
      return [
        `It changes ${oneLine(filePath)}:`,
        quote(formattedDiff || newContent, MAX_LINES),
      ];
    }
    case "mcpDetails": {
      const { toolName, serverName } = details.value;
      const json = JSON.stringify(inputParameters, undefined, 2);
      return [
        `It is the tool ${oneLine(toolName)} of the MCP server ${oneLine(serverName)}, with the arguments:`,
        quote(json, MAX_ARGUMENT_LINES),
      ];
    }
    case "genericDetails":
      return [quote(details.value.description, MAX_LINES)];
    default:
      return [];
  }
}
