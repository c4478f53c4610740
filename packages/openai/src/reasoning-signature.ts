import {
  isObject,
  listOrEmpty,
  objectOrEmpty,
  parseJsonOrUndefined,
  stringOrEmpty,
} from "@devtool/internal/json";
import type { ResponseReasoningItem } from "openai/resources/responses/responses";

/**
 * Encodes the reasoning before a call as the signature of that call.
 *
 * OpenAI wants the reasoning back with the call, encrypted as it came. The
 * first field says that it is OpenAI's: a session may go on with another model.
 */
export function encodeReasoning(
  items: readonly ResponseReasoningItem[],
): Uint8Array {
  const openai = items.map(({ id, summary, encrypted_content }) => ({
    id,
    summary,
    encrypted_content,
  }));
  return new TextEncoder().encode(JSON.stringify({ openai }));
}

/** Returns the reasoning in a signature; none if it is of another model. */
export function decodeReasoning(
  signature: Uint8Array | undefined,
): ResponseReasoningItem[] {
  const value = parseJsonOrUndefined(new TextDecoder().decode(signature));
  return listOrEmpty(objectOrEmpty(value).openai).flatMap((item) => {
    if (!isObject(item)) return [];
    const [id, encrypted_content] = [
      stringOrEmpty(item.id),
      stringOrEmpty(item.encrypted_content),
    ];
    const texts = listOrEmpty(item.summary).map((part) =>
      stringOrEmpty(objectOrEmpty(part).text),
    );
    const summary = texts.map(
      (text) => ({ type: "summary_text", text }) as const,
    );
    return id === "" || encrypted_content === ""
      ? []
      : [{ type: "reasoning", id, summary, encrypted_content } as const];
  });
}
