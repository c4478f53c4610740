import { create } from "@bufbuild/protobuf";
import {
  type ConfirmationOption,
  ConfirmationOptionSchema,
  type ConfirmationRequest,
  OPTION_CANCEL,
  OPTION_MODIFY_WITH_EDITOR,
  OPTION_PROCEED_ALWAYS,
  OPTION_PROCEED_ALWAYS_AND_SAVE,
  OPTION_PROCEED_ALWAYS_SERVER,
  OPTION_PROCEED_ALWAYS_TOOL,
  OPTION_PROCEED_ONCE,
  type ToolCall,
} from "@devtool/schema";

/** What to offer options for. */
export interface AskedCall {
  readonly call: ToolCall;
  readonly details: ConfirmationRequest["details"] | undefined;
  /** What an approval for good would cover; undefined when there can be none. */
  readonly saves: string | undefined;
}

/** Lists the answers that make sense for a call, in the order to show them (TOOL-4). */
export function confirmationOptions({ call, details, saves }: AskedCall): ConfirmationOption[] {
  return [
    option(OPTION_PROCEED_ONCE, "Allow once"),
    ...lastingOptions(call, details),
    ...(saves === undefined
      ? []
      : [option(OPTION_PROCEED_ALWAYS_AND_SAVE, "Always allow, in later sessions too", saves)]),
    ...(details?.case === "fileEditDetails"
      ? [option(OPTION_MODIFY_WITH_EDITOR, "Show it again with my content")]
      : []),
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

function option(id: string, name: string, description?: string): ConfirmationOption {
  return create(ConfirmationOptionSchema, { id, name, ...(description !== undefined && { description }) });
}
