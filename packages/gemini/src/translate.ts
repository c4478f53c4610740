import {
  CallResults,
  summaryTexts,
  type ToolDeclaration,
  userContents,
} from "@devtool/coding-agent/model";
import {
  type File,
  type Message,
  type Part,
  Role,
  toolCallsOf,
} from "@devtool/schema";
import type { Content, Part as GeminiPart, Tool } from "@google/genai";

/**
 * Encodes a conversation as Gemini's contents.
 *
 * A step of the agent becomes up to three contents: a summary as the user's,
 * text and calls as the model's, then the results of the calls as the user's.
 * Thoughts are left out.
 */
export function encodeContents(history: readonly Message[]): Content[] {
  const results = new CallResults(history);
  const contents = history.flatMap((message) => {
    const { role, parts } = message;
    if (role === Role.USER) {
      return [{ role: "user", parts: parts.flatMap(encodeUserPart) }];
    }
    const summaryParts = summaryTexts(message).map((text) => ({ text }));
    const responses = parts.flatMap(({ content }) => {
      if (content.case !== "toolCall") return [];
      const { toolCallId: id, toolName: name } = content.value;
      return [
        {
          functionResponse: {
            id,
            name,
            response: results.describe(content.value),
          },
        },
      ];
    });
    const files = toolCallsOf(message)
      .flatMap((call) => results.fileParts(call))
      .flatMap(encodeUserPart);
    return [
      { role: "user", parts: summaryParts },
      { role: "model", parts: parts.flatMap(encodeModelPart) },
      { role: "user", parts: [...responses, ...files] },
    ];
  });
  // The API refuses a content without parts.
  return contents.filter(({ parts }) => parts.length > 0);
}

/**
 * The value that Google documents for calls of another model, for instance
 * after the session changed its model.
 */
const NO_SIGNATURE = "skip_thought_signature_validator";

/**
 * Adds a signature to the first call of each step that has none: models since
 * Gemini 3 refuse a first call without one.
 */
export function signContents(contents: readonly Content[]): Content[] {
  return contents.map((content) => {
    const { parts = [] } = content;
    const first = parts.findIndex(({ functionCall }) => functionCall);
    const signed = parts.map((part, index) =>
      index === first && !part.thoughtSignature
        ? { ...part, thoughtSignature: NO_SIGNATURE }
        : part,
    );
    return { ...content, parts: signed };
  });
}

/**
 * Encodes the tools that may be called; undefined when there are none, because
 * the API refuses an empty list.
 */
export function encodeTools(
  tools: readonly ToolDeclaration[],
): Tool[] | undefined {
  if (tools.length === 0) return undefined;
  const functionDeclarations = tools.map(
    ({ name, description, parameters }) => {
      return { name, description, parametersJsonSchema: parameters };
    },
  );
  return [{ functionDeclarations }];
}

function encodeUserPart(part: Part): GeminiPart[] {
  return userContents(part).map((content) =>
    content.case === "text" ? { text: content.text } : encodeFile(content.file),
  );
}

function encodeFile({ mediaType, source }: File): GeminiPart {
  const mimeType = mediaType || "application/octet-stream";
  if (source.case !== "bytes") {
    return { fileData: { mimeType, fileUri: source.value ?? "" } };
  }
  const data = Buffer.from(source.value).toString("base64");
  return { inlineData: { mimeType, data } };
}

function encodeModelPart({ content, toolCallDetail }: Part): GeminiPart[] {
  if (content.case === "text") {
    return content.value === "" ? [] : [{ text: content.value }];
  }
  if (content.case !== "toolCall") return [];
  const {
    toolCallId: id,
    toolName: name,
    inputParameters: args = {},
  } = content.value;
  const signature = new TextDecoder().decode(toolCallDetail?.modelSignature);
  // The signatures of other models are JSON, which Gemini refuses.
  const isGeminis = signature !== "" && !signature.startsWith("{");
  const functionCall = { id, name, args };
  return [
    isGeminis
      ? { functionCall, thoughtSignature: signature }
      : { functionCall },
  ];
}
