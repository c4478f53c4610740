import { create } from "@bufbuild/protobuf";
import {
  type ConfirmationOption,
  ConfirmationOptionSchema,
  type ConfirmationRequest,
  OPTION_CANCEL,
  OPTION_PROCEED_ALWAYS,
  OPTION_PROCEED_ALWAYS_SERVER,
  OPTION_PROCEED_ALWAYS_TOOL,
  OPTION_PROCEED_ONCE,
  type ToolCall,
} from "@devtool/schema";

/** Lists the answers that make sense for a call, in the order to show them (TOOL-4). */
export function confirmationOptions(
  call: ToolCall,
  details: ConfirmationRequest["details"] | undefined,
): ConfirmationOption[] {
  return [
    option(OPTION_PROCEED_ONCE, "Allow once"),
    ...lastingOptions(call, details),
    option(OPTION_CANCEL, "Decline"),
  ];
}

function lastingOptions(call: ToolCall, details: ConfirmationRequest["details"] | undefined): ConfirmationOption[] {
  const tool = option(OPTION_PROCEED_ALWAYS_TOOL, `Always allow ${call.toolName} in this session`);
  switch (details?.case) {
    case "executeDetails":
      return [option(OPTION_PROCEED_ALWAYS, "Always allow this exact command in this session")];
    case "fileEditDetails":
      return [option(OPTION_PROCEED_ALWAYS, `Always allow ${call.toolName} in this session`)];
    case "mcpDetails":
      return [
        tool,
        option(OPTION_PROCEED_ALWAYS_SERVER, `Always allow tools of ${details.value.serverName} in this session`),
      ];
    case "genericDetails":
      return [tool];
    case undefined:
      return [];
    default:
      return details satisfies never;
  }
}

function option(id: string, name: string): ConfirmationOption {
  return create(ConfirmationOptionSchema, { id, name });
}
