import type { ConfirmationRequest, ToolCall } from "../gen/devtool/a2a/v1alpha/tool_call_pb.ts";
import type { TaskEvent } from "../gen/devtool/v1alpha/task_event_pb.ts";
import { isAwaitingApproval } from "../tool-call.ts";
import { citationText } from "./part.ts";

/**
 * Says what an event means to a client that does not know the extension (CARD-3): its text, a question in words, or
 * nothing but the state (empty). Undefined when there is nothing to say.
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
      return payload.value.error || payload.value.text;
    case "message":
      return "";
    case "reply":
      return payload.value.parts.map(({ content }) => (content.case === "text" ? content.value : "")).join("");
    case "toolCall":
      return isAwaitingApproval(payload.value) ? question(payload.value) : undefined;
    default:
      return undefined;
  }
}

function question(call: ToolCall): string {
  const { details, options = [] } = call.confirmationRequest ?? {};
  const choices = options.map(({ id, name }) => `${id} (${name})`).join(", ");
  return `May I call ${call.toolName}? ${describe(details)}\nAnswer yes or no, or with one of: ${choices}`;
}

function describe(details: ConfirmationRequest["details"] | undefined): string {
  switch (details?.case) {
    case "executeDetails":
      return `It runs: ${details.value.command}`;
    case "fileEditDetails":
      return `It changes ${details.value.filePath}:\n${details.value.formattedDiff ?? details.value.newContent}`;
    case "mcpDetails":
      return `It is the tool ${details.value.toolName} of the MCP server ${details.value.serverName}.`;
    case "genericDetails":
      return details.value.description;
    default:
      return "";
  }
}
