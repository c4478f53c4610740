import { isAbsolute, join } from "node:path";
import type {
  ToolCallStatus as AcpStatus,
  ToolCallContent,
  ToolCallLocation,
  ToolKind,
} from "@agentclientprotocol/sdk";
import { defined } from "@devtool/internal/json";
import { visibleText } from "@devtool/internal/visible-text";
import {
  type FileDiff,
  type ToolCall,
  ToolCallStatus,
  visibleCall,
} from "@devtool/schema";

/** A tool call as ACP shows it. */
export interface CallView {
  readonly toolCallId: string;
  readonly title: string;
  readonly name: string;
  readonly kind: ToolKind;
  readonly status: AcpStatus;
  readonly content: ToolCallContent[];
  readonly locations: ToolCallLocation[];
  readonly rawInput?: unknown;
  readonly rawOutput?: unknown;
  readonly _meta?: { readonly [key: string]: unknown };
}

/** Key of the status in `_meta` that ACP v1 does not have. */
export const STATUS_KEY = "devtool.dev/status";

/**
 * Returns a tool call as ACP shows it.
 *
 * Its words are made visible again: the server in between may be another one
 * than ours. ACP v1 has no cancelled calls: a call that was declined or
 * canceled is `failed`, and `_meta` holds its real status.
 */
export function callView(call: ToolCall, workspace: string): CallView {
  const shown = visibleCall(call);
  const { toolCallId, toolName, description, inputParameters } = shown;
  return defined({
    toolCallId,
    title: description || toolName,
    name: toolName,
    kind: kindOf(call),
    status: statusOf(call.status),
    content: contentOf(shown),
    locations: locationsOf(call, workspace),
    rawInput: inputParameters,
    rawOutput: rawOutputOf(call),
    _meta:
      call.status === ToolCallStatus.CANCELLED
        ? { [STATUS_KEY]: "CANCELLED" }
        : undefined,
  });
}

/**
 * Lists what differs between two views of a call. Undefined if nothing does.
 */
export function changesOf(
  before: CallView,
  after: CallView,
): Partial<CallView> | undefined {
  const changed = Object.entries(after).filter(
    ([key, value]) =>
      JSON.stringify(value) !==
      JSON.stringify(
        Object.entries(before).find(([name]) => name === key)?.[1],
      ),
  );
  return changed.length === 0 ? undefined : Object.fromEntries(changed);
}

function statusOf(status: ToolCallStatus): AcpStatus {
  switch (status) {
    case ToolCallStatus.STATUS_UNSPECIFIED:
    case ToolCallStatus.PENDING:
      return "pending";
    case ToolCallStatus.EXECUTING:
      return "in_progress";
    case ToolCallStatus.SUCCEEDED:
      return "completed";
    case ToolCallStatus.FAILED:
    case ToolCallStatus.CANCELLED:
      return "failed";
    default:
      return status satisfies never;
  }
}

/**
 * The tools of our agent and of others whose names are known, by their kind.
 */
const TOOLS: readonly (readonly [kind: ToolKind, tools: readonly string[]])[] =
  [
    [
      "read",
      [
        "read_file",
        "read_many_files",
        "list_directory",
        "ide_diagnostics",
        "ide_open_file",
      ],
    ],
    ["search", ["glob", "search_file_content", "google_web_search", "grep"]],
    ["edit", ["write_file", "replace", "multi_edit", "apply_patch", "edit"]],
    [
      "execute",
      [
        "run_shell_command",
        "shell",
        "bash",
        "read_background_output",
        "stop_background_process",
      ],
    ],
    ["fetch", ["web_fetch"]],
    ["think", ["update_plan"]],
  ];

/**
 * Returns the kind of a call: by its tool, or for unknown tools by what it
 * proposes or did.
 */
function kindOf(call: ToolCall): ToolKind {
  const [known] =
    TOOLS.find(([, tools]) => tools.includes(call.toolName)) ?? [];
  if (known) return known;
  if (call.confirmationRequest?.details.case === "executeDetails") {
    return "execute";
  }
  return diffOf(call) ? "edit" : "other";
}

/** The change that a call proposes or made. */
function diffOf({
  confirmationRequest,
  result,
}: ToolCall): FileDiff | undefined {
  if (result.case === "output" && result.value.result.case === "diff") {
    return result.value.result.value;
  }
  const details = confirmationRequest?.details;
  return details?.case === "fileEditDetails" ? details.value : undefined;
}

function contentOf(call: ToolCall): ToolCallContent[] {
  const { confirmationRequest, liveContent, result, status } = call;
  const diff = diffOf(call);
  if (diff) {
    const { filePath, oldContent, newContent } = diff;
    return [
      {
        type: "diff",
        path: filePath,
        newText: newContent,
        ...defined({ oldText: oldContent }),
      },
    ];
  }
  if (result.case === "output") {
    const output = result.value.result;
    if (output.case === "structuredData") {
      return textContent(JSON.stringify(output.value, undefined, 2));
    }
    return textContent(output.case === "text" ? output.value : "");
  }
  if (result.case === "error") return textContent(result.value.message);
  if (status === ToolCallStatus.CANCELLED) return textContent("canceled");
  if (liveContent !== undefined) return textContent(liveContent);
  const details = confirmationRequest?.details;
  switch (details?.case) {
    case "executeDetails": {
      const { command, workingDirectory } = details.value;
      const place =
        workingDirectory === undefined ? "" : `\n(in ${workingDirectory})`;
      return textContent(visibleText(command + place));
    }
    case "mcpDetails":
      return textContent(
        visibleText(
          `${details.value.toolName} of the MCP server ${details.value.serverName}, with the arguments:\n${JSON.stringify(call.inputParameters ?? {}, undefined, 2)}`,
        ),
      );
    case "genericDetails":
      return textContent(visibleText(details.value.description));
    default:
      return [];
  }
}

function textContent(text: string): ToolCallContent[] {
  return text === ""
    ? []
    : [{ type: "content", content: { type: "text", text } }];
}

function rawOutputOf({ result }: ToolCall): unknown {
  if (result.case === "error") {
    const { message, type, statusCode } = result.value;
    return defined({ message, type, statusCode });
  }
  if (result.case !== "output") return undefined;
  const { result: output } = result.value;
  if (output.case === "structuredData") return output.value;
  return output.case === "diff" ? output.value.formattedDiff : output.value;
}

/** The file that a call is about, from its change or its arguments. */
function locationsOf(call: ToolCall, workspace: string): ToolCallLocation[] {
  const diff = diffOf(call);
  if (diff) return [{ path: diff.filePath }];
  const { file_path: filePath, path } = call.inputParameters ?? {};
  const named = typeof filePath === "string" ? filePath : path;
  if (typeof named !== "string" || named === "") return [];
  if (isAbsolute(named)) return [{ path: named }];
  return workspace === "" ? [] : [{ path: join(workspace, named) }];
}
