import { create } from "@bufbuild/protobuf";
import { defined } from "@devtool/internal/json";
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

/**
 * Lists the answers that make sense for a call that needs approval, in display
 * order (TOOL-4).
 *
 * `saves` describes the calls that a saved approval would cover. Undefined when
 * the approval cannot be saved.
 */
export function confirmationOptions(
  call: ToolCall,
  details: ConfirmationRequest["details"] | undefined,
  saves: string | undefined,
): ConfirmationOption[] {
  const options = [
    option(OPTION_PROCEED_ONCE, "Allow once"),
    ...sessionOptions(call, details),
  ];
  if (saves !== undefined) {
    options.push(
      option(
        OPTION_PROCEED_ALWAYS_AND_SAVE,
        "Always allow, in later sessions too",
        saves,
      ),
    );
  }
  if (details?.case === "fileEditDetails") {
    options.push(option(OPTION_MODIFY_WITH_EDITOR, "Edit, and be asked again"));
  }
  return [...options, option(OPTION_CANCEL, "Decline")];
}

/** The answers that approve similar calls for the rest of the session. */
function sessionOptions(
  call: ToolCall,
  details: ConfirmationRequest["details"] | undefined,
): ConfirmationOption[] {
  const tool = option(
    OPTION_PROCEED_ALWAYS_TOOL,
    `Always allow ${call.toolName} in this session`,
  );
  switch (details?.case) {
    case "executeDetails":
      return [
        option(
          OPTION_PROCEED_ALWAYS,
          "Always allow this exact command in this session",
        ),
      ];
    case "fileEditDetails":
      return [
        option(
          OPTION_PROCEED_ALWAYS,
          `Always allow ${call.toolName} in this session`,
        ),
      ];
    case "mcpDetails": {
      const { serverName } = details.value;
      return [
        tool,
        option(
          OPTION_PROCEED_ALWAYS_SERVER,
          `Always allow tools of ${serverName} in this session`,
        ),
      ];
    }
    case "genericDetails":
      return [tool];
    case undefined:
      return [];
    default:
      return details satisfies never;
  }
}

function option(
  id: string,
  name: string,
  description?: string,
): ConfirmationOption {
  return create(ConfirmationOptionSchema, defined({ id, name, description }));
}
