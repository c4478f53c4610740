import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { defined } from "@devtool/internal/json";
import { oneLine } from "@devtool/internal/visible-text";
import {
  type ConfirmationOption,
  type ConfirmationRequest,
  ConfirmationRequestSchema,
  type ToolCall,
} from "../gen/devtool/a2a/v1alpha/tool_call_pb.ts";
import {
  type ConfirmationDetails,
  ConfirmationDetailsSchema,
  OutcomeSchema,
} from "../gen/devtool/coder_agent/v1alpha/tool_call_pb.ts";
import {
  OPTION_CANCEL,
  OPTION_PROCEED_ALWAYS,
  OPTION_PROCEED_ALWAYS_SERVER,
  OPTION_PROCEED_ALWAYS_TOOL,
  OPTION_PROCEED_ONCE,
} from "../tool-call.ts";

/**
 * Encodes the confirmation request of a call.
 *
 * The original has no field for options; ours has one, and describes what an
 * approval does in the fields that every client shows.
 */
export function encodeConfirmationDetails(
  call: ToolCall,
  request: ConfirmationRequest,
): ConfirmationDetails {
  return create(ConfirmationDetailsSchema, {
    ...encodeDetails(call, request),
    options: request.options.map(({ id, name, description = "" }) =>
      create(OutcomeSchema, { id, name, description }),
    ),
  });
}

type Details = MessageInitShape<typeof ConfirmationDetailsSchema>;

function encodeDetails(
  call: ToolCall,
  { details }: ConfirmationRequest,
): Details {
  const described = oneLine(call.description ?? "");
  switch (details.case) {
    case "executeDetails": {
      const { command, workingDirectory = "" } = details.value;
      // The description is put as a comment above the command if it says more:
      // the directory, `in the background`, a missing sandbox, or invisible
      // characters. Clients show the command, but few of them show the title.
      const isPlain = described === "" || described === `Run ${command}`;
      // An agent that was given the directory may not describe it.
      const isNamed =
        workingDirectory !== "" &&
        Object.values(call.inputParameters ?? {}).includes(workingDirectory);
      const comments = [
        isPlain ? "" : `# ${described}\n`,
        isNamed ? `# in ${oneLine(workingDirectory)}\n` : "",
      ];
      return {
        type: "exec",
        title: described || "Run a shell command",
        command: `${comments.join("")}${command}`,
        rootCommand: command.trim().split(/\s/, 1)[0] ?? "",
      };
    }
    case "fileEditDetails": {
      const {
        fileName,
        filePath,
        formattedDiff = "",
        oldContent = "",
        newContent,
      } = details.value;
      const content = {
        fileDiff: formattedDiff,
        newContent,
        originalContent: oldContent,
      };
      return {
        type: "edit",
        title: `Change ${oneLine(filePath)}`,
        fileName,
        filePath,
        ...content,
      };
    }
    case "mcpDetails": {
      const { serverName, toolName } = details.value;
      const toolDisplayName = `${oneLine(toolName)} with ${oneLine(JSON.stringify(call.inputParameters ?? {}))}`;
      const title = `Call ${toolDisplayName} of ${oneLine(serverName)}`;
      return { type: "mcp", title, serverName, toolName, toolDisplayName };
    }
    case "genericDetails":
      return {
        type: "info",
        title: "Allow a tool call",
        prompt: details.value.description,
      };
    case undefined:
      return { type: "info", title: "Allow a tool call" };
    default:
      return details satisfies never;
  }
}

/**
 * Decodes the confirmation request of a call. If a peer lists no outcomes,
 * those of the type are offered.
 */
export function decodeConfirmationDetails(
  asked: ConfirmationDetails,
): ConfirmationRequest {
  const named = asked.options.map(({ id, name, description }) =>
    defined({ id, name, description: description || undefined }),
  );
  const options =
    named.length > 0 ? named : (OPTIONS[asked.type] ?? DEFAULT_OPTIONS);
  return create(ConfirmationRequestSchema, {
    options: [...options],
    details: decodeDetails(asked),
  });
}

type Option = Pick<ConfirmationOption, "id" | "name" | "description">;

const ONCE = { id: OPTION_PROCEED_ONCE, name: "Allow once" } as const;
const ALWAYS = {
  id: OPTION_PROCEED_ALWAYS,
  name: "Always allow in this session",
} as const;
const DECLINE = { id: OPTION_CANCEL, name: "Decline" } as const;
const DEFAULT_OPTIONS: readonly Option[] = [ONCE, ALWAYS, DECLINE];

/**
 * The outcomes that Gemini CLI's server accepts. Its editor is not offered,
 * because it would open on the server's machine.
 */
const OPTIONS: Readonly<Record<string, readonly Option[]>> = {
  mcp: [
    ONCE,
    {
      id: OPTION_PROCEED_ALWAYS_TOOL,
      name: "Always allow this tool in this session",
    },
    {
      id: OPTION_PROCEED_ALWAYS_SERVER,
      name: "Always allow tools of this server in this session",
    },
    DECLINE,
  ],
};

function decodeDetails(
  asked: ConfirmationDetails,
): NonNullable<MessageInitShape<typeof ConfirmationRequestSchema>["details"]> {
  switch (asked.type) {
    case "exec":
      return { case: "executeDetails", value: { command: asked.command } };
    case "edit": {
      const {
        fileName,
        filePath,
        fileDiff,
        originalContent,
        newContent = "",
      } = asked;
      const oldContent = originalContent || undefined;
      const formattedDiff = fileDiff || undefined;
      const value = defined({
        fileName,
        filePath,
        newContent,
        oldContent,
        formattedDiff,
      });
      return { case: "fileEditDetails", value };
    }
    case "mcp":
      return {
        case: "mcpDetails",
        value: { serverName: asked.serverName, toolName: asked.toolName },
      };
    default:
      return {
        case: "genericDetails",
        value: {
          description: [asked.prompt || asked.title, ...asked.urls].join("\n"),
        },
      };
  }
}
