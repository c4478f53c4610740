import type { JsonObject } from "@bufbuild/protobuf";
import { dataText, type File, type Message } from "@devtool/schema";

/**
 * Returns a message as the input of a turn (`UserInput`), in the order of its
 * parts.
 *
 * Images are passed as such. Other files are passed as text: their content if
 * they are text, otherwise their URI or name.
 */
export function inputFromMessage({ parts }: Message): JsonObject[] {
  return parts.flatMap(({ content }): JsonObject[] => {
    switch (content.case) {
      case "text":
        return [textInput(content.value)];
      case "file":
        return [inputFromFile(content.value)];
      case "data":
      case "dataValue":
        return [textInput(dataText(content))];
      // An answer is delivered to its question; the others are parts of the
      // agent's messages.
      case "confirmation":
      case "thought":
      case "toolCall":
      case "summary":
      case "citation":
      case undefined:
        return [];
      default:
        return content satisfies never;
    }
  });
}

/** What a turn of Codex begins with. */
export interface TurnInput {
  readonly input: readonly JsonObject[];
  /** `additionalContext` of `turn/start`. Default: none. */
  readonly context?: JsonObject | undefined;
}

/**
 * Adds what the user's editor shows to an input: as context that Codex does not
 * trust, or as a text for other providers than OpenAI. Codex gives its model
 * that context as the output of a tool without a call, which they may refuse in
 * all later turns.
 *
 * @param text empty for nothing
 */
export function withEditor(
  input: readonly JsonObject[],
  text: string,
  provider: string,
): TurnInput {
  if (text === "") return { input };
  return provider === "openai"
    ? { input, context: { editor: { kind: "untrusted", value: text } } }
    : { input: [textInput(text), ...input] };
}

/** Returns a text as the input of a turn. */
export function textInput(text: string): JsonObject {
  return { type: "text", text, text_elements: [] };
}

function inputFromFile({ name, mediaType, source }: File): JsonObject {
  const title = name || mediaType || "file";
  if (source.case === "uri") {
    return mediaType.startsWith("image/")
      ? { type: "image", url: source.value }
      : textInput(`${title}: ${source.value}`);
  }
  const bytes = Buffer.from(source.value ?? new Uint8Array());
  if (mediaType.startsWith("image/")) {
    return {
      type: "image",
      url: `data:${mediaType};base64,${bytes.toString("base64")}`,
    };
  }
  const text = bytes.toString("utf8");
  return textInput(
    Buffer.from(text).equals(bytes)
      ? `${title}:\n${text}`
      : `${title}: ${bytes.length} bytes that are not text`,
  );
}
