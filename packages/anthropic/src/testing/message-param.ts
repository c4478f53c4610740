import { stringOrEmpty } from "@devtool/internal/json";
import {
  checkList,
  checkObject,
  checkString,
  checkToolName,
  type Fields,
  refuse,
} from "./checks.ts";
import { signThought } from "./messages-answer.ts";

/** A message of a request whose blocks are valid. */
export interface MessageParam {
  readonly role: "user" | "assistant";
  readonly blocks: readonly Fields[];
}

const BLOCKS: Readonly<Record<MessageParam["role"], readonly string[]>> = {
  user: ["text", "image", "document", "tool_result"],
  assistant: ["text", "thinking", "redacted_thinking", "tool_use"],
};

/** Reads a message. Refuses what Anthropic refuses. */
export function readMessage(value: unknown, path: string): MessageParam {
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

/** Refuses a text block without text. */
export function checkText({ text }: Fields, at: string): void {
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
export function checkPairs(messages: readonly MessageParam[]): void {
  for (const [index, { blocks }] of messages.entries()) {
    const calls = blocks.flatMap(callsOfBlock).map(([id]) => id);
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
export function checkThoughts(messages: readonly MessageParam[]): void {
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

/**
 * Returns the id and the name of the call that a block is; none for other
 * blocks.
 */
export function callsOfBlock({
  type,
  id,
  name,
}: Fields): (readonly [id: string, name: string])[] {
  return type === "tool_use" ? [[stringOrEmpty(id), stringOrEmpty(name)]] : [];
}
