import { Code, DevtoolError } from "@devtool/server/agent";

const INTERNAL = -32_603;

/**
 * The JSON-RPC codes of the errors that an agent gets. ACP defines those for
 * "not found" and "cancelled".
 */
const RPC_CODES: ReadonlyMap<Code, number> = new Map([
  [Code.InvalidArgument, -32_602],
  [Code.OutOfRange, -32_602],
  // The path or the directory that the agent names is what cannot be used.
  [Code.PermissionDenied, -32_602],
  [Code.NotFound, -32_002],
  [Code.Canceled, -32_800],
  [Code.FailedPrecondition, -32_600],
  [Code.ResourceExhausted, -32_600],
]);

/**
 * Answers a request of the agent. A failure becomes the JSON-RPC error with the
 * same meaning and words.
 */
export async function answerOf<Result>(
  handle: () => Result | Promise<Result>,
): Promise<Result> {
  try {
    return await handle();
  } catch (reason) {
    const { RequestError } = await import("@agentclientprotocol/sdk");
    const { code, message } = DevtoolError.from(reason);
    throw new RequestError(RPC_CODES.get(code) ?? INTERNAL, message, {
      code: Code[code],
    });
  }
}
