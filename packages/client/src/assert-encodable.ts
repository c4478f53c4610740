import { toBinary, toJson } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import {
  type SendMessageRequest,
  SendMessageRequestSchema,
} from "@devtool/schema";

/**
 * Throws `Code.InvalidArgument` for a request that cannot be encoded, such as a
 * part with the number `NaN` or a text that is not a string.
 *
 * Transports report such a request as an internal error, which looks like an
 * error of the server that a retry could fix. Binary transports even send
 * values that no reader of the log could show as JSON.
 */
export function assertEncodable(request: SendMessageRequest): void {
  try {
    // Each form rejects values that the other one accepts.
    toJson(SendMessageRequestSchema, request);
    toBinary(SendMessageRequestSchema, request);
  } catch (cause) {
    const problem = cause instanceof Error ? cause.message : String(cause);
    throw new ConnectError(
      `the message cannot be encoded: ${problem}`,
      Code.InvalidArgument,
      undefined,
      undefined,
      cause,
    );
  }
}
