import type Anthropic from "@anthropic-ai/sdk";
import {
  CallResults,
  fileText,
  type ModelRequest,
  modelHistory,
  summaryTexts,
  userContents,
} from "@devtool/coding-agent/model";
import { defined } from "@devtool/internal/json";
import { objectSchema } from "@devtool/internal/object-schema";
import type { ToolNames } from "@devtool/internal/tool-names";
import {
  type File,
  type Message,
  type Part,
  Role,
  toolCallsOf,
} from "@devtool/schema";
import { decodeThinking } from "./thinking-signature.ts";

/** The settings of a request, besides the conversation. */
export interface RequestLimits {
  readonly model: string;
  readonly maxOutputTokens: number;
  /** The maximum number of tokens of thoughts, 0 for none; or `"adaptive"`. */
  readonly thinking: number | "adaptive";
}

/**
 * Encodes a step as a request to the Messages API. The tools, the instructions
 * and the conversation are cached there.
 */
export async function encodeMessagesRequest(
  request: ModelRequest,
  limits: RequestLimits,
  names: ToolNames,
): Promise<Anthropic.MessageCreateParamsStreaming> {
  const system = await request.instructions();
  const tools = request.tools.map(
    ({ name, description, parameters }): Anthropic.Tool => {
      return {
        name: names.encode(name),
        description,
        input_schema: { ...objectSchema(parameters), type: "object" },
      };
    },
  );
  const thinking: Anthropic.ThinkingConfigParam =
    limits.thinking === "adaptive"
      ? { type: "adaptive", display: "summarized" }
      : {
          type: "enabled",
          budget_tokens: limits.thinking,
          display: "summarized",
        };
  return defined({
    model: limits.model,
    max_tokens: limits.maxOutputTokens,
    stream: true as const,
    messages: encodeMessages(modelHistory(request.history), names),
    cache_control: { type: "ephemeral" as const },
    system: system.trim() === "" ? undefined : system,
    tools: tools.length > 0 ? tools : undefined,
    thinking: limits.thinking === 0 ? undefined : thinking,
  });
}

/**
 * Encodes a conversation as messages.
 *
 * A step becomes a message of the model with thoughts, text and calls, and one
 * of the user with the results. Adjacent messages of one role are joined,
 * because results must be at the start of the message after their calls.
 */
function encodeMessages(
  history: readonly Message[],
  names: ToolNames,
): Anthropic.MessageParam[] {
  const results = new CallResults(history);
  const messages = history.flatMap((message): BlockMessage[] => {
    const { role, parts } = message;
    if (role === Role.USER) {
      const content = parts
        .flatMap(userContents)
        .flatMap((part) =>
          part.case === "text" ? encodeText(part.text) : encodeFile(part.file),
        );
      return [{ role: "user", content }];
    }
    return [
      {
        role: "user",
        content: summaryTexts(message).map((text) => ({ type: "text", text })),
      },
      { role: "assistant", content: encodeStep(parts, names) },
      {
        role: "user",
        content: toolCallsOf(message).map(
          (call): Anthropic.ToolResultBlockParam => {
            const { text, isError } = results.render(call);
            const images = results
              .fileParts(call)
              .flatMap(userContents)
              .flatMap((part) =>
                part.case === "file" ? encodeFile(part.file) : [],
              )
              .filter((block) => block.type === "image");
            const result = {
              type: "tool_result" as const,
              tool_use_id: encodeId(call.toolCallId),
              content:
                images.length > 0 ? [...encodeText(text), ...images] : text,
            };
            return isError ? { ...result, is_error: true } : result;
          },
        ),
      },
    ];
  });
  const joined: BlockMessage[] = [];
  for (const { role, content } of messages) {
    if (content.length === 0) continue;
    const last = joined.at(-1);
    if (last?.role === role) {
      last.content.push(...content);
    } else {
      joined.push({ role, content });
    }
  }
  return joined;
}

interface BlockMessage {
  readonly role: "user" | "assistant";
  readonly content: Anthropic.ContentBlockParam[];
}

/**
 * Encodes what the model said in a step. Its thoughts come first, as they came:
 * the API refuses calls without them.
 */
function encodeStep(
  parts: readonly Part[],
  names: ToolNames,
): Anthropic.ContentBlockParam[] {
  const thoughts = parts.flatMap(({ toolCallDetail }) =>
    decodeThinking(toolCallDetail?.modelSignature),
  );
  const rest = parts.flatMap(({ content }): Anthropic.ContentBlockParam[] => {
    if (content.case === "text") return encodeText(content.value);
    if (content.case !== "toolCall") return [];
    const { toolCallId, toolName, inputParameters: input = {} } = content.value;
    return [
      {
        type: "tool_use",
        id: encodeId(toolCallId),
        name: names.encode(toolName),
        input,
      },
    ];
  });
  const texts = rest.filter(({ type }) => type === "text");
  const calls = rest.filter(({ type }) => type !== "text");
  return [...thoughts, ...texts, ...calls];
}

/** Returns the id of a call with no other characters than the API allows. */
function encodeId(toolCallId: string): string {
  return toolCallId.replaceAll(/[^a-zA-Z0-9_-]/g, "_");
}

/**
 * Encodes a text; nothing for one without a visible character, which the API
 * refuses.
 */
function encodeText(text: string): Anthropic.TextBlockParam[] {
  return text.trim() === "" ? [] : [{ type: "text", text }];
}

type ImageType = Anthropic.Base64ImageSource["media_type"];

const IMAGE_TYPES: readonly ImageType[] = [
  "image/jpeg",
  "image/png",
  "image/gif",
  "image/webp",
];

/**
 * Encodes a file: images and PDF documents as they are, text as text. Of any
 * other file the model learns the name only.
 */
function encodeFile(file: File): Anthropic.ContentBlockParam[] {
  const { mediaType, source } = file;
  const media_type = IMAGE_TYPES.find((type) => type === mediaType);
  const isPdf = mediaType === "application/pdf";
  if (source.case === "uri" && (media_type || isPdf)) {
    const link = { type: "url", url: source.value } as const;
    return [{ type: media_type ? "image" : "document", source: link }];
  }
  if (source.case === "bytes" && (media_type || isPdf)) {
    const data = Buffer.from(source.value).toString("base64");
    const type = "base64";
    return media_type
      ? [{ type: "image", source: { type, media_type, data } }]
      : [
          {
            type: "document",
            source: { type, media_type: "application/pdf", data },
          },
        ];
  }
  return encodeText(fileText(file));
}
