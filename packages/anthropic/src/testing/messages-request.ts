import {
  type AnswerRequest,
  type CallResult,
  type DeclaredTool,
  type Entry,
  RequestRefused,
} from "@devtool/fake-model";
import {
  isObject,
  listOrEmpty,
  objectOrEmpty,
  stringOrEmpty,
} from "@devtool/schema/json";
import {
  encodeMessage,
  signThought,
  streamMessage,
} from "./messages-answer.ts";

type Fields = Readonly<Record<string, unknown>>;

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
  checkSystem(body.system);
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
    messages.flatMap(({ blocks }) => blocks.flatMap(nameOfCall)),
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

function checkSystem(value: unknown): void {
  if (value === undefined || typeof value === "string") return;
  for (const [index, block] of checkList(value, "system").entries()) {
    checkText(checkObject(block, `system.${index}`), `system.${index}`);
  }
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

interface MessageParam {
  readonly role: "user" | "assistant";
  readonly blocks: readonly Fields[];
}

const BLOCKS: Readonly<Record<MessageParam["role"], readonly string[]>> = {
  user: ["text", "image", "document", "tool_result"],
  assistant: ["text", "thinking", "redacted_thinking", "tool_use"],
};

function readMessage(value: unknown, path: string): MessageParam {
  const { role, content } = checkObject(value, path);
  if (role !== "user" && role !== "assistant") {
    refuse(`${path}.role: Input should be 'user' or 'assistant'`);
  }
  if (typeof content === "string") {
    const block = { type: "text", text: content };
    checkText(block, `${path}.content`);
    return { role, blocks: [block] };
  }
  const blocks = checkList(content, `${path}.content`).map((each, index) => {
    const at = `${path}.content.${index}`;
    const block = checkObject(each, at);
    if (!BLOCKS[role].includes(stringOrEmpty(block.type))) {
      refuse(`${at}: Input tag '${String(block.type)}' is not expected`);
    }
    checkBlock(block, at);
    return block;
  });
  return { role, blocks };
}

function checkBlock(block: Fields, at: string): void {
  switch (block.type) {
    case "text":
      checkText(block, at);
      return;
    case "image":
      checkImage(block, at);
      return;
    case "tool_use":
      checkToolName(block.name, `${at}.tool_use.name`);
      if (
        !/^[a-zA-Z0-9_-]+$/.test(checkString(block.id, `${at}.tool_use.id`))
      ) {
        refuse(
          `${at}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'`,
        );
      }
      checkObject(block.input, `${at}.tool_use.input`);
      return;
    case "tool_result":
      checkString(block.tool_use_id, `${at}.tool_result.tool_use_id`);
      if (Array.isArray(block.content)) {
        for (const [index, each] of block.content.entries()) {
          checkBlock(checkObject(each, at), `${at}.content.${index}`);
        }
      }
      return;
    case "thinking":
      if (
        block.signature !==
        signThought(checkString(block.thinking, `${at}.thinking`))
      ) {
        refuse(`${at}: Invalid \`signature\` in \`thinking\` block`);
      }
      return;
    default:
  }
}

function checkText({ text }: Fields, at: string): void {
  if (checkString(text, `${at}.text`).trim() === "") {
    refuse(`${at}: text content blocks must contain non-whitespace text`);
  }
}

function checkImage({ source }: Fields, at: string): void {
  const { type, media_type, data, url } = checkObject(source, `${at}.source`);
  if (type === "url") return void checkString(url, `${at}.source.url`);
  if (type !== "base64") {
    refuse(`${at}.source.type: Input should be 'base64' or 'url'`);
  }
  if (!/^image\/(jpeg|png|gif|webp)$/.test(stringOrEmpty(media_type))) {
    refuse(
      `${at}.source.base64.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'`,
    );
  }
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(stringOrEmpty(data))) {
    refuse(`${at}.source.base64.data: invalid base64 data`);
  }
}

/**
 * Refuses calls whose results are not at the start of the next message, and
 * results without calls.
 */
function checkPairs(messages: readonly MessageParam[]): void {
  for (const [index, { blocks }] of messages.entries()) {
    const calls = blocks.flatMap(nameOfCall).map(([id]) => id);
    const next = messages[index + 1]?.blocks ?? [];
    const results = next
      .filter(({ type }) => type === "tool_result")
      .map((block) => stringOrEmpty(block.tool_use_id));
    const lacking = calls.filter((id) => !results.includes(id));
    if (lacking.length > 0) {
      const problem =
        "`tool_use` ids were found without `tool_result` blocks immediately after";
      refuse(`messages.${index}: ${problem}: ${lacking.join(", ")}`);
    }
    const foreign = results.find((id) => !calls.includes(id));
    if (foreign !== undefined) {
      refuse(
        `messages.${index + 1}: unexpected \`tool_use_id\` found: ${foreign}`,
      );
    }
    const twice = calls.find((id, at) => calls.indexOf(id) < at);
    if (twice !== undefined) {
      refuse(`messages.${index}: \`tool_use\` ids must be unique`);
    }
    const afterOther = next.findIndex(
      (block, at) =>
        block.type === "tool_result" &&
        next[at - 1] &&
        next[at - 1]?.type !== "tool_result",
    );
    if (afterOther >= 0) {
      refuse(
        `messages.${index + 1}.content.${afterOther}: tool results must come first`,
      );
    }
  }
  const first = messages[0]?.blocks.find(({ type }) => type === "tool_result");
  if (first) refuse("messages.0: unexpected `tool_use_id` found");
}

/**
 * Refuses a conversation in the middle of its calls whose last calls have lost
 * their thoughts.
 */
function checkThoughts(messages: readonly MessageParam[]): void {
  const last = messages.at(-1);
  const index = messages.length - 2;
  const calling = messages[index];
  const call = calling?.blocks.find(({ type }) => type === "tool_use");
  const isAnswered =
    last?.blocks.some(({ type }) => type === "tool_result") === true;
  // The fake says in the id of a call whether a thought came before it.
  if (
    !calling ||
    !isAnswered ||
    !stringOrEmpty(call?.id).startsWith("toolu_thought")
  ) {
    return;
  }
  const type = stringOrEmpty(calling.blocks[0]?.type);
  if (type !== "thinking" && type !== "redacted_thinking") {
    refuse(
      `messages.${index}.content.0.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`${type}\``,
    );
  }
}

function nameOfCall({
  type,
  id,
  name,
}: Fields): (readonly [id: string, name: string])[] {
  return type === "tool_use" ? [[stringOrEmpty(id), stringOrEmpty(name)]] : [];
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
    const { type: kind } = checkObject(
      input_schema,
      `tools.${index}.custom.input_schema`,
    );
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

function checkToolName(value: unknown, path: string): string {
  const name = checkString(value, path);
  if (!/^[a-zA-Z0-9_-]{1,128}$/.test(name)) {
    refuse(`${path}: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'`);
  }
  return name;
}

function checkObject(value: unknown, path: string): Fields {
  if (!isObject(value)) refuse(`${path}: Input should be a valid dictionary`);
  return value;
}

function checkString(value: unknown, path: string): string {
  if (typeof value !== "string") {
    refuse(`${path}: Input should be a valid string`);
  }
  return value;
}

function checkList(value: unknown, path: string): readonly unknown[] {
  if (!Array.isArray(value)) refuse(`${path}: Input should be a valid list`);
  if (value.length === 0) refuse(`${path}: at least one item is required`);
  return value;
}

function refuse(message: string): never {
  throw new RequestRefused({ status: 400, message });
}
