import { RequestError } from "@agentclientprotocol/sdk";
import { Code, ConnectError } from "@connectrpc/connect";
import { visibleText } from "@devtool/internal/visible-text";

/** The JSON-RPC error codes of ACP that this agent sends. */
export const RPC_CODE = {
  AUTH_REQUIRED: -32_000,
  NOT_FOUND: -32_002,
  CANCELLED: -32_800,
  INVALID_REQUEST: -32_600,
  INVALID_PARAMS: -32_602,
  INTERNAL: -32_603,
} as const;

/**
 * Creates the error for a parameter that cannot be used. The message names the
 * value and the remedy; `data` what is wrong with the parameter, by its name.
 */
export function invalidParams(
  message: string,
  data?: Readonly<Record<string, string>>,
): RequestError {
  return new RequestError(RPC_CODE.INVALID_PARAMS, message, data);
}

/** Creates the error for a session that the server does not have. */
export function sessionNotFound(sessionId: unknown): RequestError {
  const message = `session ${JSON.stringify(sessionId)} does not exist: choose one of session/list, or start one with session/new`;
  const known = typeof sessionId === "string" && sessionId.isWellFormed();
  return new RequestError(
    RPC_CODE.NOT_FOUND,
    message,
    known ? { sessionId } : undefined,
  );
}

/**
 * Returns an error of the server as the JSON-RPC error with the same meaning.
 * Its message is the server's, with deceiving characters visible.
 */
export function rpcErrorFrom(reason: unknown): RequestError {
  if (reason instanceof RequestError) return reason;
  const { code, rawMessage } = ConnectError.from(reason);
  const [, size, limit] = TOO_LARGE.exec(rawMessage) ?? [];
  if (size !== undefined) {
    return invalidParams(
      `the request is ${size} bytes: limit is ${limit}; send less, or a link to the file`,
    );
  }
  return new RequestError(
    RPC_CODES.get(code) ?? RPC_CODE.INTERNAL,
    visibleText(rawMessage),
    { code: Code[code] },
  );
}

/** How Connect says that a request is too large. */
const TOO_LARGE =
  /^message size (\d+) is larger than configured readMaxBytes (\d+)$/;

/**
 * The error codes by the code of a server's error. Others are internal errors.
 */
const RPC_CODES: ReadonlyMap<Code, number> = new Map([
  [Code.InvalidArgument, RPC_CODE.INVALID_PARAMS],
  [Code.AlreadyExists, RPC_CODE.INVALID_PARAMS],
  [Code.OutOfRange, RPC_CODE.INVALID_PARAMS],
  [Code.NotFound, RPC_CODE.NOT_FOUND],
  [Code.FailedPrecondition, RPC_CODE.INVALID_REQUEST],
  [Code.Unauthenticated, RPC_CODE.AUTH_REQUIRED],
  [Code.Canceled, RPC_CODE.CANCELLED],
]);
