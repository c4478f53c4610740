import type { AnyMessage } from "@agentclientprotocol/sdk";

/** The answer to a request with an id that was rounded. */
export const LONG_ID_REFUSAL: AnyMessage = {
  jsonrpc: "2.0",
  id: null,
  error: {
    code: -32600,
    message: "the id of a request is a number beyond 2^53: send it as a string",
  },
};

/**
 * Returns whether a message is a request whose id may have other digits than
 * the id that was sent, so that an answer could be one to another request.
 */
export function isRounded(message: AnyMessage): boolean {
  return (
    "method" in message &&
    "id" in message &&
    typeof message.id === "number" &&
    Math.abs(message.id) > Number.MAX_SAFE_INTEGER
  );
}
