import { create, type JsonObject } from "@bufbuild/protobuf";
import { unshownArguments } from "@devtool/internal/unshown-arguments";
import { oneLine, visibleText } from "@devtool/internal/visible-text";
import { namedAnswers } from "./answer-name.ts";
import {
  type ConfirmationOption,
  type ConfirmationRequest,
  GenericDetailsSchema,
  type ToolCall,
} from "./gen/devtool/a2a/v1alpha/tool_call_pb.ts";

/** Maximum length of the name or description of an option, in characters. */
const MAX_OPTION_LENGTH = 1000;

/**
 * Returns a call whose texts for people cannot deceive them: the name of the
 * tool, the description, the options, and the details in words.
 *
 * Invisible and misleading characters in them are escaped, and texts that are
 * shown on one line are put on one. An option is called what it does, with the
 * words of its agent behind that in quotes. Commands, files and arguments stay as they
 * are, because they are what runs: code that shows them makes them visible. A
 * command beside which the call has further arguments is shown in words with
 * all of them. A call without any of this is returned with equal content, so a
 * second use changes nothing.
 */
export function visibleCall(call: ToolCall): ToolCall {
  const { toolName, description, confirmationRequest: request } = call;
  return {
    ...call,
    toolName: onOneLine(toolName),
    ...(description !== undefined && { description: onOneLine(description) }),
    ...(request && {
      confirmationRequest: {
        ...request,
        options: namedAnswers(request.options).map(visibleOption),
        details: visibleDetails(request.details, call.inputParameters),
      },
    }),
  };
}

function visibleOption(option: ConfirmationOption): ConfirmationOption {
  const { name, description } = option;
  return {
    ...option,
    name: onOneLine(name, MAX_OPTION_LENGTH),
    ...(description !== undefined && {
      description: onOneLine(description, MAX_OPTION_LENGTH),
    }),
  };
}

function visibleDetails(
  details: ConfirmationRequest["details"],
  args: JsonObject = {},
): ConfirmationRequest["details"] {
  switch (details.case) {
    case "executeDetails":
      return wholeCommand(details, args);
    case "genericDetails":
      return {
        case: details.case,
        value: {
          ...details.value,
          description: visibleText(details.value.description),
        },
      };
    case "mcpDetails": {
      const { serverName, toolName } = details.value;
      return {
        case: details.case,
        value: {
          ...details.value,
          serverName: onOneLine(serverName),
          toolName: onOneLine(toolName),
        },
      };
    }
    case "fileEditDetails":
    case undefined:
      return details;
    default:
      return details satisfies never;
  }
}

/** Returns the details of a command with all arguments that it runs with. */
function wholeCommand(
  details: Extract<ConfirmationRequest["details"], { case: "executeDetails" }>,
  args: JsonObject,
): ConfirmationRequest["details"] {
  const unshown = unshownArguments(args, details.value);
  if (Object.keys(unshown).length === 0) return details;
  const { command, workingDirectory } = details.value;
  const where =
    workingDirectory === undefined ? "" : ` in ${onOneLine(workingDirectory)}`;
  const description = visibleText(
    [
      `Runs${where}:`,
      command,
      "With the arguments:",
      JSON.stringify(unshown, undefined, 2),
    ].join("\n"),
  );
  return {
    case: "genericDetails",
    value: create(GenericDetailsSchema, { description }),
  };
}

/** Puts text on one line if it is not on one already. */
function onOneLine(text: string, maxLength = Number.POSITIVE_INFINITY): string {
  const visible = visibleText(text);
  return /[\n\t]/.test(visible) || visible.length > maxLength
    ? oneLine(visible, maxLength)
    : visible;
}
