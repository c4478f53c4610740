import { type JsonObject, toJson, toJsonString } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import type { ToolDeclaration } from "@devtool/coding-agent/model";
import {
  confirmationsOf,
  ErrorDetailsSchema,
  type File,
  isEnded,
  type Message,
  OPTION_CANCEL,
  type Part,
  Role,
  type ToolCall,
  type ToolCallConfirmation,
  ToolCallStatus,
} from "@devtool/schema";
import type { Content, Part as GeminiPart, Tool } from "@google/genai";
import { encodeSignature } from "./signature.ts";

/** Writes a conversation as Gemini has it: what was called, and behind it, as the user's, what came of it. */
export function contentsOf(history: readonly Message[]): Content[] {
  const answers = answersIn(history);
  return history.flatMap((message) =>
    message.role === Role.USER ? userContents(message) : stepContents(message, answers),
  );
}

/** Writes the tools that may be called; none gives no list at all, which the API wants. */
export function toolsOf(tools: readonly ToolDeclaration[]): Tool[] | undefined {
  if (tools.length === 0) return undefined;
  const functionDeclarations = tools.map(({ name, description, parameters }) => ({
    name,
    description,
    parametersJsonSchema: parameters,
  }));
  return [{ functionDeclarations }];
}

function userContents({ parts }: Message): Content[] {
  return contentOf("user", parts.flatMap(userPart));
}

function userPart({ content }: Part): GeminiPart[] {
  switch (content.case) {
    case "text":
      return content.value === "" ? [] : [{ text: content.value }];
    case "file":
      return filePart(content.value);
    case "data":
      return [{ text: JSON.stringify(content.value) }];
    case "dataValue":
      return [{ text: toJsonString(ValueSchema, content.value) }];
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

function filePart({ name, mediaType, source }: File): GeminiPart[] {
  const mimeType = mediaType || "application/octet-stream";
  const label: GeminiPart[] = name === "" ? [] : [{ text: `File ${JSON.stringify(name)}:` }];
  switch (source.case) {
    case "bytes":
      return [...label, { inlineData: { mimeType, data: Buffer.from(source.value).toString("base64") } }];
    case "uri":
      return [...label, { fileData: { mimeType, fileUri: source.value } }];
    case undefined:
      return label;
    default:
      return source satisfies never;
  }
}

/** A step of the agent: a summary speaks as the user, all else as the model; results follow as the user. */
/** The last answer to each call, with the content that the user gave in it or, with an editor, in one before. */
function answersIn(history: readonly Message[]): ReadonlyMap<string, ToolCallConfirmation> {
  const answers = new Map<string, ToolCallConfirmation>();
  for (const answer of history.flatMap(confirmationsOf)) {
    const changed = answer.modifiedDetails.case ? answer : answers.get(answer.toolCallId);
    answers.set(answer.toolCallId, { ...answer, modifiedDetails: (changed ?? answer).modifiedDetails });
  }
  return answers;
}

function stepContents({ parts }: Message, answers: ReadonlyMap<string, ToolCallConfirmation>): Content[] {
  return [
    ...contentOf("user", parts.flatMap(summaryPart)),
    ...contentOf("model", parts.flatMap(modelPart)),
    ...contentOf(
      "user",
      parts.flatMap((part) => responsePart(part, answers)),
    ),
  ];
}

function contentOf(role: "user" | "model", parts: GeminiPart[]): Content[] {
  return parts.length === 0 ? [] : [{ role, parts }];
}

function summaryPart({ content }: Part): GeminiPart[] {
  if (content.case !== "summary") return [];
  return [{ text: `What was said and done before, in short:\n\n${content.value.text}` }];
}

function modelPart({ content, toolCallDetail }: Part): GeminiPart[] {
  if (content.case === "text") return content.value === "" ? [] : [{ text: content.value }];
  if (content.case !== "toolCall") return [];
  const { toolCallId: id, toolName: name, inputParameters: args = {} } = content.value;
  const signature = toolCallDetail?.modelSignature;
  const functionCall = { id, name, args };
  return [signature?.length ? { functionCall, thoughtSignature: encodeSignature(signature) } : { functionCall }];
}

function responsePart({ content }: Part, answers: ReadonlyMap<string, ToolCallConfirmation>): GeminiPart[] {
  if (content.case !== "toolCall") return [];
  const { toolCallId: id, toolName: name } = content.value;
  return [{ functionResponse: { id, name, response: responseOf(content.value, answers.get(id)) } }];
}

/** What came of a call: `output`, or `error`; and what the user changed. */
function responseOf(call: ToolCall, answer: ToolCallConfirmation | undefined): JsonObject {
  const { result } = call;
  switch (result.case) {
    case "output":
      return { output: outputOf(result.value.result), ...changeOf(answer) };
    case "error":
      return { error: toJson(ErrorDetailsSchema, result.value), ...changeOf(answer) };
    case undefined:
      return { error: withoutResult(call, answer), ...(call.liveContent && { output: call.liveContent }) };
    default:
      return result satisfies never;
  }
}

function outputOf(output: Extract<ToolCall["result"], { case: "output" }>["value"]["result"]): JsonObject | string {
  switch (output.case) {
    case "text":
      return output.value;
    case "diff":
      return `Changed ${output.value.filePath}.\n${output.value.formattedDiff ?? ""}`;
    case "structuredData":
      return output.value;
    case undefined:
      return "";
    default:
      return output satisfies never;
  }
}

function changeOf(answer: ToolCallConfirmation | undefined): JsonObject {
  if (answer?.modifiedDetails.case !== "fileDetails") return {};
  return {
    note: "The user changed the proposed content before it was written; the arguments of the call show theirs.",
  };
}

function withoutResult(call: ToolCall, answer: ToolCallConfirmation | undefined): string {
  if (answer?.selectedOptionId === OPTION_CANCEL) {
    return "The user declined this call, so it did not run. Do not make it again unless the user asks for it.";
  }
  if (call.status === ToolCallStatus.CANCELLED) return "The call was canceled before it ended.";
  return isEnded(call) ? "The call ended without a result." : "The call has not ended.";
}
