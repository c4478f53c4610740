import type {
  AnswerRequest,
  CallResult,
  DeclaredTool,
  Entry,
} from "@devtool/coding-agent/testing/fake-model";
import {
  listOrEmpty,
  objectOrEmpty,
  stringOrEmpty,
} from "@devtool/internal/json";
import {
  checkList,
  checkObject,
  checkString,
  checkToolName,
  type Fields,
  refuse,
} from "./checks.ts";
import {
  callsOfBlock,
  checkPairs,
  checkText,
  checkThoughts,
  type MessageParam,
  readMessage,
} from "./message-param.ts";
import { encodeMessage, streamMessage } from "./messages-answer.ts";

/** The fields of `POST /v1/messages`. */
const FIELDS: ReadonlySet<string> = new Set([
  "cache_control",
  "container",
  "context_management",
  "diagnostics",
  "inference_geo",
  "max_tokens",
  "messages",
  "metadata",
  "model",
  "output_config",
  "service_tier",
  "speed",
  "stop_sequences",
  "stream",
  "system",
  "temperature",
  "thinking",
  "tool_choice",
  "tools",
  "top_k",
  "top_p",
  "user_profile_id",
  "workspace_id",
]);

/** Reads a request for a message. Refuses what Anthropic refuses. */
export function readMessagesRequest(value: unknown): AnswerRequest {
  const body = checkObject(value, "body");
  const unknown = Object.keys(body).find((name) => !FIELDS.has(name));
  if (unknown !== undefined) {
    refuse(`${unknown}: Extra inputs are not permitted`);
  }
  const model = checkString(body.model, "model");
  if (!(Number.isInteger(body.max_tokens) && Number(body.max_tokens) > 0)) {
    refuse("max_tokens: Input should be greater than or equal to 1");
  }
  if (body.system !== undefined && typeof body.system !== "string") {
    for (const [index, block] of checkList(body.system, "system").entries()) {
      checkText(checkObject(block, `system.${index}`), `system.${index}`);
    }
  }
  const thinks = checkThinking(body);
  const messages = checkList(body.messages, "messages").map((each, index) =>
    readMessage(each, `messages.${index}`),
  );
  if (messages[0]?.role !== "user") {
    refuse('messages: first message must use the "user" role');
  }
  checkPairs(messages);
  if (thinks) checkThoughts(messages);
  const names = new Map(
    messages.flatMap(({ blocks }) => blocks.flatMap(callsOfBlock)),
  );
  return {
    case: "answer",
    method: "messages",
    model,
    conversation: messages.map((message) => entryOf(message, names)),
    tools: body.tools === undefined ? [] : readTools(body.tools),
    signatures: messages.flatMap(({ blocks }) =>
      blocks.map(({ signature }) => stringOrEmpty(signature)).filter(Boolean),
    ),
    encode:
      body.stream === true
        ? { case: "stream", stream: (context) => streamMessage(body, context) }
        : {
            case: "whole",
            whole: (plan, context) => encodeMessage(plan, body, context),
          },
  };
}

/** Returns whether the request asks for thoughts. */
function checkThinking({ thinking, max_tokens, tool_choice }: Fields): boolean {
  if (thinking === undefined) return false;
  const { type, budget_tokens } = checkObject(thinking, "thinking");
  if (type === "disabled") return false;
  if (type !== "enabled" && type !== "adaptive") {
    refuse(
      "thinking.type: Input should be 'enabled', 'adaptive' or 'disabled'",
    );
  }
  if (type === "enabled") {
    const budget = Number(budget_tokens);
    if (!(budget >= 1024)) {
      refuse(
        "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024",
      );
    }
    if (budget >= Number(max_tokens)) {
      refuse("`max_tokens` must be greater than `thinking.budget_tokens`");
    }
  }
  const choice = objectOrEmpty(tool_choice).type;
  if (choice === "any" || choice === "tool") {
    refuse("Thinking may not be enabled when tool_choice forces tool use.");
  }
  return true;
}

function entryOf(
  { role, blocks }: MessageParam,
  names: ReadonlyMap<string, string>,
): Entry {
  if (role === "assistant") {
    return {
      role: "model",
      hasCalls: blocks.some(({ type }) => type === "tool_use"),
    };
  }
  const texts = blocks.flatMap(({ type, text }) =>
    type === "text" ? [stringOrEmpty(text)] : [],
  );
  const results = blocks.flatMap((block): CallResult[] => {
    if (block.type !== "tool_result") return [];
    return [
      {
        name: names.get(stringOrEmpty(block.tool_use_id)) ?? "",
        value: readResult(block.content),
      },
    ];
  });
  return { role: "user", texts, results };
}

function readResult(content: unknown): string {
  if (typeof content === "string") return content;
  const texts = listOrEmpty(content).map((block) =>
    stringOrEmpty(objectOrEmpty(block).text),
  );
  return texts.join("\n");
}

function readTools(value: unknown): DeclaredTool[] {
  if (!Array.isArray(value)) refuse("tools: Input should be a valid list");
  const tools = value.flatMap((each, index): DeclaredTool[] => {
    const {
      type = "custom",
      name,
      input_schema,
    } = checkObject(each, `tools.${index}`);
    if (type !== "custom") return [];
    const { type: kind, ...schema } = checkObject(
      input_schema,
      `tools.${index}.custom.input_schema`,
    );
    if (["anyOf", "oneOf", "allOf"].some((word) => word in schema)) {
      refuse(
        `tools.${index}.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level`,
      );
    }
    if (kind !== "object") {
      refuse(
        `tools.${index}.custom.input_schema.type: Input should be 'object'`,
      );
    }
    return [
      {
        name: checkToolName(name, `tools.${index}.custom.name`),
        parameters: input_schema,
      },
    ];
  });
  if (new Set(tools.map(({ name }) => name)).size < tools.length) {
    refuse("tools: Tool names must be unique.");
  }
  return tools;
}
