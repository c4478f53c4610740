import {
  CallResults,
  type ModelRequest,
  modelHistory,
  summaryTexts,
} from "@devtool/coding-agent/model";
import { defined } from "@devtool/internal/json";
import { objectSchema } from "@devtool/internal/object-schema";
import type { ToolNames } from "@devtool/internal/tool-names";
import { type Message, type Part, Role, toolCallsOf } from "@devtool/schema";
import type {
  ChatCompletionContentPart,
  ChatCompletionCreateParamsStreaming,
  ChatCompletionMessageParam,
  ChatCompletionTool,
} from "openai/resources/chat/completions/completions";
import { encodeUserPart } from "./user-content.ts";

/** Encodes a step as a request to the Chat Completions API. */
export async function encodeChatRequest(
  request: ModelRequest,
  model: string,
  names: ToolNames,
): Promise<ChatCompletionCreateParamsStreaming> {
  const instructions = await request.instructions();
  const system: ChatCompletionMessageParam[] =
    instructions === "" ? [] : [{ role: "system", content: instructions }];
  const tools = request.tools.map(
    ({ name, description, parameters }): ChatCompletionTool => {
      return {
        type: "function",
        function: {
          name: names.encode(name),
          description,
          parameters: objectSchema(parameters),
        },
      };
    },
  );
  return defined({
    model,
    stream: true as const,
    stream_options: { include_usage: true },
    messages: [
      ...system,
      ...encodeMessages(modelHistory(request.history), names),
    ],
    tools: tools.length > 0 ? tools : undefined,
  });
}

/**
 * Encodes a conversation as messages: the user's, and for each step one of the
 * model's and the results of its calls.
 */
function encodeMessages(
  history: readonly Message[],
  names: ToolNames,
): ChatCompletionMessageParam[] {
  const results = new CallResults(history);
  return history.flatMap((message): ChatCompletionMessageParam[] => {
    const { role, parts } = message;
    if (role === Role.USER) return encodeUserMessage(parts);
    const text = parts
      .map(({ content }) => (content.case === "text" ? content.value : ""))
      .join("");
    const calls = toolCallsOf(message);
    const tool_calls = calls.map(
      ({ toolCallId: id, toolName, inputParameters }) => {
        const call = {
          name: names.encode(toolName),
          arguments: JSON.stringify(inputParameters ?? {}),
        };
        return { id, type: "function" as const, function: call };
      },
    );
    const step: ChatCompletionMessageParam[] = [];
    if (tool_calls.length > 0) {
      step.push({
        role: "assistant",
        content: text === "" ? null : text,
        tool_calls,
      });
    } else if (text !== "") {
      step.push({ role: "assistant", content: text });
    }
    return [
      ...summaryTexts(message).map(
        (content): ChatCompletionMessageParam => ({ role: "user", content }),
      ),
      ...step,
      ...calls.map((call): ChatCompletionMessageParam => {
        return {
          role: "tool",
          tool_call_id: call.toolCallId,
          content: results.render(call).text,
        };
      }),
    ];
  });
}

function encodeUserMessage(
  parts: readonly Part[],
): ChatCompletionMessageParam[] {
  const content = parts
    .flatMap(encodeUserPart)
    .map((part): ChatCompletionContentPart => {
      switch (part.case) {
        case "text":
          return { type: "text", text: part.text };
        case "image":
          return { type: "image_url", image_url: { url: part.url } };
        case "document":
          return {
            type: "file",
            file: { filename: part.name, file_data: part.data },
          };
        default:
          return part satisfies never;
      }
    });
  if (content.length === 0) return [];
  const texts = content.flatMap((part) =>
    part.type === "text" ? [part.text] : [],
  );
  // Many servers take lists of parts from a model that sees images only.
  return [
    {
      role: "user",
      content: texts.length === content.length ? texts.join("\n") : content,
    },
  ];
}
