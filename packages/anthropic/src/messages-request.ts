import type Anthropic from "@anthropic-ai/sdk";
import {
  CallResults,
  type ModelRequest,
  modelHistory,
  objectSchema,
  summaryText,
  type ToolNames,
} from "@devtool/coding-agent/model";
import { defined } from "@devtool/internal/json";
import {
  dataText,
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
      return [{ role: "user", content: parts.flatMap(encodeUserPart) }];
    }
    const summaries = parts.flatMap(({ content }) =>
      content.case === "summary" ? [content.value.text] : [],
    );
    return [
      {
        role: "user",
        content: summaries.map((text) => ({
          type: "text",
          text: summaryText(text),
        })),
      },
      { role: "assistant", content: encodeStep(parts, names) },
      {
        role: "user",
        content: toolCallsOf(message).map(
          (call): Anthropic.ToolResultBlockParam => {
            const { text, isError } = results.render(call);
            const result = {
              type: "tool_result",
              tool_use_id: encodeId(call.toolCallId),
              content: text,
            } as const;
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

function encodeUserPart({ content }: Part): Anthropic.ContentBlockParam[] {
  switch (content.case) {
    case "text":
      return encodeText(content.value);
    case "file":
      return encodeFile(content.value);
    case "data":
    case "dataValue":
      return [{ type: "text", text: dataText(content) }];
    case "thought":
    case "toolCall":
    case "confirmation":
    case "summary":
    case "citation":
    case undefined:
      return [];
    default:
      return content satisfies never;
  }
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
function encodeFile({
  name,
  mediaType,
  source,
}: File): Anthropic.ContentBlockParam[] {
  const label = name === "" ? [] : encodeText(`File ${JSON.stringify(name)}:`);
  const media_type = IMAGE_TYPES.find((type) => type === mediaType);
  const isPdf = mediaType === "application/pdf";
  switch (source.case) {
    case "bytes": {
      const data = Buffer.from(source.value).toString("base64");
      if (media_type) {
        return [
          ...label,
          { type: "image", source: { type: "base64", media_type, data } },
        ];
      }
      if (isPdf) {
        return [
          ...label,
          {
            type: "document",
            source: { type: "base64", media_type: "application/pdf", data },
          },
        ];
      }
      if (/^text\/|[/+]json$/.test(mediaType)) {
        return [
          ...label,
          ...encodeText(new TextDecoder().decode(source.value)),
        ];
      }
      return [
        ...label,
        ...encodeText(
          `(a file of the type ${mediaType || "unknown"}, which cannot be shown)`,
        ),
      ];
    }
    case "uri": {
      const url = source.value;
      if (media_type) {
        return [...label, { type: "image", source: { type: "url", url } }];
      }
      return isPdf
        ? [...label, { type: "document", source: { type: "url", url } }]
        : [...label, ...encodeText(url)];
    }
    case undefined:
      return label;
    default:
      return source satisfies never;
  }
}
