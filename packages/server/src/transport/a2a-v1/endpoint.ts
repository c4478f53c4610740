import type { ConnectError } from "@connectrpc/connect";
import { Code } from "../../errors.ts";
import type { ErrorTable } from "./error-table.ts";
import { connectErrorFrom } from "./errors.ts";
import type { Operation } from "./operation.ts";
import type { A2aV1Options } from "./options.ts";

/** Dependencies of both bindings whose messages are JSON. */
export interface A2aV1Endpoint extends A2aV1Options {
  /** The operations by the name of their method. */
  readonly operations: ReadonlyMap<string, Operation>;

  readonly errorTable: ErrorTable;
}

/**
 * Returns the error that a client gets for anything that was thrown, and
 * reports it to the operator unless it is the client's fault.
 */
export function reportError(
  reason: unknown,
  { errorTable, onError }: A2aV1Endpoint,
): ConnectError {
  const error = connectErrorFrom(reason, errorTable);
  if (error.code === Code.Internal || error.code === Code.Unknown) {
    onError(error.cause ?? error);
  }
  return error;
}
