import { create, type JsonObject } from "@bufbuild/protobuf";
import {
  structFromJson,
  ToolCallStatus,
  ToolOutputSchema,
} from "@devtool/schema";
import {
  defined,
  isObject,
  listOrEmpty,
  objectOrEmpty,
  stringOrEmpty,
} from "@devtool/schema/json";
import { toolFailure } from "@devtool/server/agent";
import { CANCELLED, type CallEnd } from "./call-book.ts";
import {
  changesArgs,
  describeChanges,
  readChanges,
  unifiedDiff,
} from "./file-change.ts";
import { scriptOf } from "./shell-text.ts";

/** The tool call that a thread item describes. */
export interface ItemCall {
  readonly toolName: string;
  readonly description: string;
  readonly args: JsonObject;
}

/**
 * Returns the tool call that a thread item stands for. Undefined for items that
 * are not tool calls.
 */
export function callOfItem(item: JsonObject): ItemCall | undefined {
  switch (item.type) {
    case "commandExecution": {
      const command = scriptOf(stringOrEmpty(item.command));
      return {
        toolName: "shell",
        description: command,
        args: { command, cwd: stringOrEmpty(item.cwd) },
      };
    }
    case "fileChange": {
      const changes = readChanges(item.changes);
      return {
        toolName: "apply_patch",
        description: describeChanges(changes),
        args: changesArgs(changes),
      };
    }
    case "mcpToolCall": {
      const server = stringOrEmpty(item.server);
      const tool = stringOrEmpty(item.tool);
      return {
        toolName: `mcp__${server}__${tool}`,
        description: `${tool} of ${server}`,
        args: argsOf(item.arguments),
      };
    }
    case "dynamicToolCall": {
      const toolName = stringOrEmpty(item.tool);
      const args = argsOf(item.arguments);
      return { toolName, description: toolName, args };
    }
    case "collabAgentToolCall":
      return agentCall(item);
    case "webSearch":
      return {
        toolName: "web_search",
        description: stringOrEmpty(item.query),
        args: { query: item.query ?? "" },
      };
    case "imageView":
      return {
        toolName: "view_image",
        description: stringOrEmpty(item.path),
        args: { path: item.path ?? "" },
      };
    case "imageGeneration":
      return {
        toolName: "generate_image",
        description: stringOrEmpty(item.revisedPrompt),
        args: {},
      };
    case "sleep":
      return {
        toolName: "sleep",
        description: `${item.durationMs} ms`,
        args: { duration_ms: item.durationMs ?? 0 },
      };
    default:
      return undefined;
  }
}

/** Returns the call with which an agent of Codex works with another one. */
function agentCall(item: JsonObject): ItemCall {
  const { tool, senderThreadId = "", receiverThreadIds = [] } = item;
  const prompt = item.prompt ?? undefined;
  const args = {
    parent_thread_id: senderThreadId,
    child_thread_ids: receiverThreadIds,
    prompt,
    model: item.model ?? undefined,
  };
  return {
    toolName: `agent:${stringOrEmpty(tool)}`,
    description: stringOrEmpty(prompt),
    args: structFromJson(defined(args)),
  };
}

/** Returns how the call of a completed item ended. */
export function endOfItem(item: JsonObject): CallEnd {
  if (item.status === "declined" || item.status === "interrupted") {
    return CANCELLED;
  }
  const hasFailed =
    item.status === "failed" || isObject(item.error) || isObject(item.failure);
  switch (item.type) {
    case "commandExecution": {
      const { exitCode } = item;
      const code =
        typeof exitCode === "number" && Number.isInteger(exitCode)
          ? exitCode
          : undefined;
      const output = stringOrEmpty(item.aggregatedOutput);
      if (!hasFailed) return succeeded(output);
      return failed(
        output ||
          (code === undefined ? "the command failed" : `exit code ${code}`),
        code,
      );
    }
    case "fileChange": {
      const changes = readChanges(item.changes);
      return hasFailed
        ? failed("the change could not be applied")
        : succeeded(unifiedDiff(changes));
    }
    case "mcpToolCall":
      return endOfMcpCall(item);
    case "imageGeneration":
      if (hasFailed) {
        return failed(stringOrEmpty(objectOrEmpty(item.failure).message));
      }
      return succeeded(
        stringOrEmpty(item.savedPath) ||
          stringOrEmpty(item.fileId) ||
          "the image was not saved",
      );
    case "collabAgentToolCall":
      return hasFailed
        ? failed("the call failed")
        : succeeded({ agents: item.agentsStates ?? {} });
    case "dynamicToolCall":
      return hasFailed
        ? failed("the call failed")
        : succeeded({ content: item.contentItems ?? [] });
    case "webSearch":
      return succeeded(
        defined({ action: item.action, results: item.results ?? undefined }),
      );
    default:
      return succeeded("");
  }
}

function argsOf(value: unknown): JsonObject {
  if (isObject(value)) return structFromJson(value);
  return value === undefined || value === null ? {} : structFromJson({ value });
}

function endOfMcpCall({ status, result, error }: JsonObject): CallEnd {
  const { structuredContent, content } = objectOrEmpty(result);
  const text = listOrEmpty(content)
    .map((block) => stringOrEmpty(objectOrEmpty(block).text))
    .filter((block) => block !== "")
    .join("\n");
  if (status === "failed" || isObject(error)) {
    const value = toolFailure(
      "mcp_tool_error",
      stringOrEmpty(objectOrEmpty(error).message) || text || "the call failed",
    );
    return { status: ToolCallStatus.FAILED, result: { case: "error", value } };
  }
  return succeeded(isObject(structuredContent) ? structuredContent : text);
}

function succeeded(output: string | JsonObject): CallEnd {
  const value = create(ToolOutputSchema, {
    result:
      typeof output === "string"
        ? { case: "text", value: output }
        : { case: "structuredData", value: structFromJson(output) },
  });
  return {
    status: ToolCallStatus.SUCCEEDED,
    result: { case: "output", value },
  };
}

function failed(message: string, exitCode?: number): CallEnd {
  const value = toolFailure("execution_failed", message, exitCode);
  return { status: ToolCallStatus.FAILED, result: { case: "error", value } };
}
