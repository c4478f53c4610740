import { toJsonString } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import type { Message, Part } from "@devtool/schema";

/** A token has about so many characters. */
const CHARACTERS = 4;

/** What an image or another file costs, about. */
const FILE_TOKENS = 1000;

/** Estimates how many tokens messages take: well enough to tell a long history from a short one. */
export function estimateTokens(messages: readonly Message[]): number {
  let tokens = 0;
  for (const { parts } of messages) for (const part of parts) tokens += partTokens(part);
  return tokens;
}

function partTokens({ content }: Part): number {
  switch (content.case) {
    case "text":
      return content.value.length / CHARACTERS;
    case "summary":
      return content.value.text.length / CHARACTERS;
    case "file":
      return FILE_TOKENS;
    case "data":
      return JSON.stringify(content.value).length / CHARACTERS;
    case "dataValue":
      return toJsonString(ValueSchema, content.value).length / CHARACTERS;
    case "toolCall": {
      const { inputParameters, result } = content.value;
      return (JSON.stringify(inputParameters ?? {}).length + resultLength(result)) / CHARACTERS;
    }
    case "thought":
    case "citation":
    case "confirmation":
    case undefined:
      return 0;
    default:
      return content satisfies never;
  }
}

type Result = Extract<Part["content"], { case: "toolCall" }>["value"]["result"];

function resultLength(result: Result): number {
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
