import type Anthropic from "@anthropic-ai/sdk";
import {
  isObject,
  listOrEmpty,
  objectOrEmpty,
  parseJsonOrUndefined,
  stringOrEmpty,
} from "@devtool/internal/json";

/** A thought as Anthropic wants it back: unchanged. */
export type Thinking =
  | Anthropic.ThinkingBlockParam
  | Anthropic.RedactedThinkingBlockParam;

/**
 * Encodes the thoughts before a call as the signature of that call.
 *
 * The field says that they are Anthropic's: a session may go on with another
 * model.
 */
export function encodeThinking(anthropic: readonly Thinking[]): Uint8Array {
  return new TextEncoder().encode(JSON.stringify({ anthropic }));
}

/** Returns the thoughts in a signature; none if it is of another model. */
export function decodeThinking(signature: Uint8Array | undefined): Thinking[] {
  const value = parseJsonOrUndefined(new TextDecoder().decode(signature));
  return listOrEmpty(objectOrEmpty(value).anthropic).flatMap(
    (block): Thinking[] => {
      if (!isObject(block)) return [];
      const { type, thinking, signature: sign, data } = block;
      if (type === "redacted_thinking") {
        return [{ type, data: stringOrEmpty(data) }];
      }
      return type === "thinking"
        ? [
            {
              type,
              thinking: stringOrEmpty(thinking),
              signature: stringOrEmpty(sign),
            },
          ]
        : [];
    },
  );
}
