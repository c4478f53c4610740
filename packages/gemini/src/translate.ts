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
  type ToolOutput,
} from "@devtool/schema";
import type { Content, Part as GeminiPart, Tool } from "@google/genai";
import { encodeSignature } from "./signature.ts";

/** The user's answers to calls, by the ids of the calls. */
type Answers = ReadonlyMap<string, ToolCallConfirmation>;

/**
 * Encodes a conversation as Gemini's contents.
 *
 * A step of the agent becomes up to three contents: a summary as the user's, text and calls as the model's, then the results of
 * the calls as the user's. Thoughts are left out.
 */
export function encodeContents(history: readonly Message[]): Content[] {
  const answers = lastAnswers(history);
  return history.flatMap(({ role, parts }) => {
    if (role === Role.USER) return encodeContent("user", parts.flatMap(encodeUserPart));
    const summaries = parts.flatMap(({ content }) => (content.case === "summary" ? [content.value.text] : []));
    const summaryParts = summaries.map((text) => ({ text: `What was said and done before, in short:\n\n${text}` }));
    const responses = parts.flatMap((part) => encodeResponse(part, answers));
    return [
      ...encodeContent("user", summaryParts),
      ...encodeContent("model", parts.flatMap(encodeModelPart)),
      ...encodeContent("user", responses),
    ];
  });
}

/** Encodes the tools that may be called; undefined when there are none, because the API refuses an empty list. */
export function encodeTools(tools: readonly ToolDeclaration[]): Tool[] | undefined {
  if (tools.length === 0) return undefined;
  const functionDeclarations = tools.map(({ name, description, parameters }) => {
    return { name, description, parametersJsonSchema: parameters };
  });
  return [{ functionDeclarations }];
}

/** Returns the last answer to each call, with the content that the user gave in it or, with an editor, in an earlier one. */
function lastAnswers(history: readonly Message[]): Answers {
  const answers = new Map<string, ToolCallConfirmation>();
  for (const answer of history.flatMap(confirmationsOf)) {
    const changed = answer.modifiedDetails.case ? answer : answers.get(answer.toolCallId);
    answers.set(answer.toolCallId, { ...answer, modifiedDetails: (changed ?? answer).modifiedDetails });
  }
  return answers;
}

/** Returns one content, or none when it would be empty, which the API refuses. */
function encodeContent(role: "user" | "model", parts: GeminiPart[]): Content[] {
  return parts.length === 0 ? [] : [{ role, parts }];
}

function encodeUserPart({ content }: Part): GeminiPart[] {
  switch (content.case) {
    case "text":
      return content.value === "" ? [] : [{ text: content.value }];
    case "file":
      return encodeFile(content.value);
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

function encodeFile({ name, mediaType, source }: File): GeminiPart[] {
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

function encodeModelPart({ content, toolCallDetail }: Part): GeminiPart[] {
  if (content.case === "text") return content.value === "" ? [] : [{ text: content.value }];
  if (content.case !== "toolCall") return [];
  const { toolCallId: id, toolName: name, inputParameters: args = {} } = content.value;
  const signature = toolCallDetail?.modelSignature;
  const functionCall = { id, name, args };
  return [signature?.length ? { functionCall, thoughtSignature: encodeSignature(signature) } : { functionCall }];
}

/** Encodes the result of a call as `output` or `error`, with a note if the user changed what the call proposed. */
function encodeResponse({ content }: Part, answers: Answers): GeminiPart[] {
  if (content.case !== "toolCall") return [];
  const { toolCallId: id, toolName: name } = content.value;
  const answer = answers.get(id);
  const response = encodeResult(content.value, answer);
  if (content.value.result.case && answer?.modifiedDetails.case === "fileDetails")
    response.note =
      "The user changed the proposed content before it was written; the arguments of the call show theirs.";
  return [{ functionResponse: { id, name, response } }];
}

function encodeResult(call: ToolCall, answer: ToolCallConfirmation | undefined): JsonObject {
  const { result, liveContent } = call;
  switch (result.case) {
    case "output":
      return { output: encodeOutput(result.value) };
    case "error":
      return { error: toJson(ErrorDetailsSchema, result.value) };
    case undefined: {
      const error = explainNoResult(call, answer);
      return liveContent ? { error, output: liveContent } : { error };
    }
    default:
      return result satisfies never;
  }
}

function encodeOutput({ result }: ToolOutput): JsonObject | string {
  switch (result.case) {
    case "text":
      return result.value;
    case "diff":
      return `Changed ${result.value.filePath}.\n${result.value.formattedDiff ?? ""}`;
    case "structuredData":
      return result.value;
    case undefined:
      return "";
    default:
      return result satisfies never;
  }
}

function explainNoResult(call: ToolCall, answer: ToolCallConfirmation | undefined): string {
  if (answer?.selectedOptionId === OPTION_CANCEL)
    return "The user declined this call, so it did not run. Do not make it again unless the user asks for it.";
  if (call.status === ToolCallStatus.CANCELLED) return "The call was canceled before it ended.";
  return isEnded(call) ? "The call ended without a result." : "The call has not ended.";
}
