import type { ConnectError } from "@connectrpc/connect";
import { Code } from "../../errors.ts";
import { connectErrorFrom, ERROR_TABLE, type ErrorTable } from "./errors.ts";
import type { Operation } from "./operation.ts";
import type { A2aServiceOptions, A2aV1Options } from "./options.ts";

/** Dependencies of both bindings whose messages are JSON. */
export interface Endpoint extends A2aV1Options {
  /** The operations by the name of their method. */
  readonly operations: ReadonlyMap<string, Operation>;
}

/** Returns the error table of a server. */
export function errorTableOf({ errorTable = ERROR_TABLE }: A2aServiceOptions): ErrorTable {
  return errorTable;
}

/** Returns the error that a client gets for anything that was thrown, and reports it to the operator unless it is the client's fault. */
export function reportError(reason: unknown, endpoint: A2aV1Options): ConnectError {
  const error = connectErrorFrom(reason, errorTableOf(endpoint));
  if (error.code === Code.Internal || error.code === Code.Unknown) endpoint.onError(error.cause ?? error);
  return error;
}
