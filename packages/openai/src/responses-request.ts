import {
  CallResults,
  type ModelRequest,
  modelHistory,
  summaryTexts,
} from "@devtool/coding-agent/model";
import { objectSchema } from "@devtool/internal/object-schema";
import type { ToolNames } from "@devtool/internal/tool-names";
import { type Message, type Part, Role, toolCallsOf } from "@devtool/schema";
import type {
  EasyInputMessage,
  ResponseCreateParamsStreaming,
  ResponseInputContent,
  ResponseInputItem,
  Tool,
} from "openai/resources/responses/responses";
import { decodeReasoning } from "./reasoning-signature.ts";
import { encodeUserPart } from "./user-content.ts";

/**
 * The models of OpenAI that do not reason. Asking them for their reasoning is
 * an error of the API.
 */
const WITHOUT_REASONING = /^(gpt-(3|4)|chatgpt-|gpt-5(\.\d)?-chat)/;

/**
 * Encodes a step as a request to the Responses API. Nothing of it is stored at
 * OpenAI.
 */
export async function encodeResponsesRequest(
  request: ModelRequest,
  model: string,
  names: ToolNames,
): Promise<ResponseCreateParamsStreaming> {
  const instructions = await request.instructions();
  const tools = request.tools.map(({ name, description, parameters }): Tool => {
    return {
      type: "function",
      name: names.encode(name),
      description,
      parameters: objectSchema(parameters),
      strict: false,
    };
  });
  return {
    model,
    stream: true,
    store: false,
    input: encodeInput(modelHistory(request.history), names),
    ...(instructions !== "" && { instructions }),
    ...(tools.length > 0 && { tools, parallel_tool_calls: true }),
    ...(!WITHOUT_REASONING.test(model) && {
      reasoning: { summary: "auto" },
      include: ["reasoning.encrypted_content"],
    }),
  };
}

/**
 * Encodes a conversation as items: the user's messages, and for each step its
 * reasoning, text, calls and their results.
 */
function encodeInput(
  history: readonly Message[],
  names: ToolNames,
): ResponseInputItem[] {
  const results = new CallResults(history);
  return history.flatMap((message): ResponseInputItem[] => {
    const { role, parts } = message;
    if (role === Role.USER) return encodeUserMessage(parts);
    return [
      ...summaryTexts(message).map(
        (content): EasyInputMessage => ({ role: "user", content }),
      ),
      ...parts.flatMap(({ content, toolCallDetail }): ResponseInputItem[] => {
        if (content.case === "text") {
          return content.value === ""
            ? []
            : [{ role: "assistant", content: content.value }];
        }
        if (content.case !== "toolCall") return [];
        const {
          toolCallId: call_id,
          toolName,
          inputParameters,
        } = content.value;
        const call = {
          type: "function_call",
          call_id,
          name: names.encode(toolName),
          arguments: JSON.stringify(inputParameters ?? {}),
        } as const;
        return [...decodeReasoning(toolCallDetail?.modelSignature), call];
      }),
      ...parts.flatMap(({ content }): ResponseInputItem[] => {
        if (content.case !== "toolCall") return [];
        const output = results.render(content.value).text;
        return [
          {
            type: "function_call_output",
            call_id: content.value.toolCallId,
            output,
          },
        ];
      }),
      ...encodeUserMessage(
        toolCallsOf(message).flatMap((call) => results.fileParts(call)),
      ),
    ];
  });
}

function encodeUserMessage(parts: readonly Part[]): EasyInputMessage[] {
  const content = parts
    .flatMap(encodeUserPart)
    .map((part): ResponseInputContent => {
      switch (part.case) {
        case "text":
          return { type: "input_text", text: part.text };
        case "image":
          return { type: "input_image", image_url: part.url, detail: "auto" };
        case "document":
          return {
            type: "input_file",
            filename: part.name,
            file_data: part.data,
          };
        default:
          return part satisfies never;
      }
    });
  return content.length === 0 ? [] : [{ role: "user", content }];
}
