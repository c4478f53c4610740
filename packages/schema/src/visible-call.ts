import type { ConfirmationOption, ConfirmationRequest, ToolCall } from "./gen/devtool/a2a/v1alpha/tool_call_pb.ts";
import { oneLine, visibleText } from "./visible-text.ts";

/** Maximum length of the name or description of an option, in characters. */
const MAX_OPTION_LENGTH = 1000;

/**
 * Returns a call whose words for a person cannot deceive: its tool, description, options, and what it asks in words have no character that
 * is invisible or changes how others show, and those that are one line are one.
 *
 * Commands, files and arguments stay as they are, since they are what runs: whoever shows them makes them visible. Neither this nor a
 * second use changes a call that has nothing deceiving.
 */
export function visibleCall(call: ToolCall): ToolCall {
  const { toolName, description, confirmationRequest } = call;
  return {
    ...call,
    toolName: onOneLine(toolName),
    ...(description !== undefined && { description: onOneLine(description) }),
    ...(confirmationRequest && { confirmationRequest: visibleRequest(confirmationRequest) }),
  };
}

function visibleRequest(request: ConfirmationRequest): ConfirmationRequest {
  return { ...request, options: request.options.map(visibleOption), details: visibleDetails(request.details) };
}

function visibleOption(option: ConfirmationOption): ConfirmationOption {
  const { name, description } = option;
  return {
    ...option,
    name: onOneLine(name, MAX_OPTION_LENGTH),
    ...(description !== undefined && { description: onOneLine(description, MAX_OPTION_LENGTH) }),
  };
}

function visibleDetails(details: ConfirmationRequest["details"]): ConfirmationRequest["details"] {
  switch (details.case) {
    case "genericDetails":
      return { case: details.case, value: { ...details.value, description: visibleText(details.value.description) } };
    case "mcpDetails": {
      const { serverName, toolName } = details.value;
      return {
        case: details.case,
        value: { ...details.value, serverName: onOneLine(serverName), toolName: onOneLine(toolName) },
      };
    }
    case "executeDetails":
    case "fileEditDetails":
    case undefined:
      return details;
    default:
      return details satisfies never;
  }
}

/** Puts text on one line if it is not on one already. */
function onOneLine(text: string, maxLength = Number.POSITIVE_INFINITY): string {
  const visible = visibleText(text);
  return /[\n\t]/.test(visible) || visible.length > maxLength ? oneLine(visible, maxLength) : visible;
}
