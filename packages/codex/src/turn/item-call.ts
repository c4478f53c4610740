import { create, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import { defined, isObject, objectOrEmpty } from "@devtool/internal/json";
import {
  structFromJson,
  ToolCallStatus,
  ToolOutputSchema,
} from "@devtool/schema";
import {
  CANCELLED,
  type CallEnd,
  failedCall,
  quoted,
} from "@devtool/server/agent";
import {
  changesArgs,
  describeChanges,
  readChanges,
  unifiedDiff,
} from "./file-change.ts";
import { elementsOf, errorText, wordsOf } from "./odd-value.ts";
import { scriptOf } from "./shell-text.ts";

/** The types of items whose end has one of a few statuses. */
const WITH_STATUS: ReadonlySet<string> = new Set([
  "commandExecution",
  "fileChange",
  "mcpToolCall",
  "dynamicToolCall",
  "collabAgentToolCall",
]);

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
      const command = scriptOf(wordsOf(item.command));
      return {
        toolName: "shell",
        description: command,
        args: { command, cwd: wordsOf(item.cwd) },
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
      const server = wordsOf(item.server);
      const tool = wordsOf(item.tool);
      return {
        toolName: `mcp__${server}__${tool}`,
        description: `${tool} of ${server}`,
        args: argsOf(item.arguments),
      };
    }
    case "dynamicToolCall": {
      const toolName = wordsOf(item.tool);
      const args = argsOf(item.arguments);
      return { toolName, description: toolName, args };
    }
    case "collabAgentToolCall":
      return agentCall(item);
    case "webSearch":
      return {
        toolName: "web_search",
        description: wordsOf(item.query),
        args: { query: item.query ?? "" },
      };
    case "imageView":
      return {
        toolName: "view_image",
        description: wordsOf(item.path),
        args: { path: item.path ?? "" },
      };
    case "imageGeneration":
      return {
        toolName: "generate_image",
        description: wordsOf(item.revisedPrompt),
        args: {},
      };
    case "sleep":
      return {
        toolName: "sleep",
        description: `${wordsOf(item.durationMs)} ms`,
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
    toolName: `agent:${wordsOf(tool)}`,
    description: wordsOf(prompt),
    args: structFromJson(defined(args)),
  };
}

/** Returns how the call of a completed item ended. */
export function endOfItem(item: JsonObject): CallEnd {
  if (item.status === "declined" || item.status === "interrupted") {
    return CANCELLED;
  }
  const status = wordsOf(item.status);
  const isOdd =
    WITH_STATUS.has(wordsOf(item.type)) &&
    !["", "completed", "failed"].includes(status);
  const error = errorText(item.error ?? item.failure);
  const hasFailed = status === "failed" || isOdd || error !== "";
  if (item.type === "mcpToolCall") {
    return hasFailed ? failedMcpCall(item) : succeededMcpCall(item);
  }
  if (hasFailed) {
    const { exitCode } = item;
    const code =
      typeof exitCode === "number" && Number.isInteger(exitCode)
        ? exitCode
        : undefined;
    const words = [
      isOdd ? `Codex ended it as ${quoted(status)}` : "",
      error,
      wordsOf(item.aggregatedOutput ?? item.agentsStates ?? item.contentItems),
    ].filter((each) => each !== "");
    return failed(words.join("\n") || whyFailed(item.type, code), code);
  }
  switch (item.type) {
    case "commandExecution":
      return succeeded(wordsOf(item.aggregatedOutput));
    case "fileChange":
      return succeeded(unifiedDiff(readChanges(item.changes)));
    case "imageGeneration":
      return succeeded(
        wordsOf(item.savedPath) ||
          wordsOf(item.fileId) ||
          "the image was not saved",
      );
    case "collabAgentToolCall":
      return succeeded({ agents: item.agentsStates ?? {} });
    case "dynamicToolCall":
      return succeeded({ content: item.contentItems ?? [] });
    case "webSearch":
      return succeeded(
        defined({ action: item.action, results: item.results ?? undefined }),
      );
    default:
      return succeeded("");
  }
}

/** Returns why an item failed of which Codex says nothing more. */
function whyFailed(type: JsonValue | undefined, code?: number): string {
  if (code !== undefined) return `exit code ${code}`;
  if (type === "commandExecution") return "the command failed";
  return type === "fileChange"
    ? "the change could not be applied"
    : "the call failed";
}

/** Returns the arguments of a call, which should be an object. */
export function argsOf(value: JsonValue | undefined): JsonObject {
  if (isObject(value)) return structFromJson(value);
  return value === undefined || value === null ? {} : structFromJson({ value });
}

function failedMcpCall({ result, error }: JsonObject): CallEnd {
  const words = [errorText(error), textOfResult(result)];
  const message =
    words.filter((each) => each !== "").join("\n") || "the call failed";
  return failedCall("mcp_tool_error", message);
}

function succeededMcpCall({ result }: JsonObject): CallEnd {
  const { structuredContent } = objectOrEmpty(result);
  return succeeded(
    isObject(structuredContent) ? structuredContent : textOfResult(result),
  );
}

/** Returns the text of the result of an MCP tool, a line for each block. */
function textOfResult(result: JsonValue | undefined): string {
  const { structuredContent, content } = objectOrEmpty(result);
  return elementsOf(content ?? structuredContent ?? result)
    .map(textOfBlock)
    .filter((block) => block !== "")
    .join("\n");
}

/** Returns the text of a block of content, or what it is. */
function textOfBlock(block: JsonValue): string {
  if (!isObject(block)) return wordsOf(block);
  const text = wordsOf(block.text ?? objectOrEmpty(block.resource).text);
  if (text !== "" || block.type === "text") return text;
  return `[${wordsOf(block.type) || JSON.stringify(block)}]`;
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
  return failedCall("execution_failed", message, exitCode);
}
