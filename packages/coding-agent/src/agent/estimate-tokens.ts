import {
  dataText,
  type Message,
  type Part,
  type ToolCall,
} from "@devtool/schema";

/** The average number of characters per token. */
const CHARACTERS_PER_TOKEN = 4;

/** The estimated number of tokens of an image or another file. */
const FILE_TOKENS = 1000;

/**
 * Estimates the number of tokens in messages, precisely enough to decide
 * whether a history is long.
 */
export function estimateTokens(messages: readonly Message[]): number {
  let tokens = 0;
  for (const { parts } of messages) {
    for (const { content, toolCallDetail } of parts) {
      tokens += (toolCallDetail?.files.length ?? 0) * FILE_TOKENS;
      tokens +=
        content.case === "file"
          ? FILE_TOKENS
          : partLength(content) / CHARACTERS_PER_TOKEN;
    }
  }
  return tokens;
}

type PartContent = Exclude<Part["content"], { case: "file" }>;

/** The length of a part in characters. */
function partLength(content: PartContent): number {
  switch (content.case) {
    case "text":
      return content.value.length;
    case "summary":
      return content.value.text.length;
    case "data":
    case "dataValue":
      return dataText(content).length;
    case "toolCall":
      return (
        JSON.stringify(content.value.inputParameters ?? {}).length +
        resultLength(content.value)
      );
    case "thought":
    case "citation":
    case "confirmation":
    case undefined:
      return 0;
    default:
      return content satisfies never;
  }
}

/** The length of a call's result in characters. */
function resultLength({ result }: ToolCall): number {
  if (result.case === "error") return result.value.message.length;
  if (result.case === undefined) return 0;
  const output = result.value.result;
  switch (output.case) {
    case "text":
      return output.value.length;
    case "diff":
      return (output.value.formattedDiff ?? "").length;
    case "structuredData":
      return JSON.stringify(output.value).length;
    case undefined:
      return 0;
    default:
      return output satisfies never;
  }
}
