import type { ConnectError } from "@connectrpc/connect";
import { Code } from "../../errors.ts";
import type { Heartbeats } from "../http/heartbeats.ts";
import { connectErrorOf, ERROR_TABLE, type ErrorTable } from "./errors.ts";
import type { Operation } from "./operation.ts";
import type { A2aServiceOptions } from "./options.ts";

/** What the bindings over HTTP need beside the service. */
export interface HttpOptions extends A2aServiceOptions {
  /** A request may have so many bytes. */
  readonly maxRequestBytes: number;
  /** When streams say that they live. */
  readonly heartbeats: Heartbeats;
  /** Aborts when the server stops: ends the streams that have no end of their own. */
  readonly shutdown: AbortSignal;
  readonly onError: (reason: unknown) => void;
}

/** What both bindings over HTTP answer with. */
export interface Endpoint extends HttpOptions {
  readonly operations: ReadonlyMap<string, Operation>;
}

/** The table of failures of an endpoint. */
export function tableOf({ errorTable = ERROR_TABLE }: A2aServiceOptions): ErrorTable {
  return errorTable;
}

/** The error that a client gets for what was thrown; what is no fault of the client is told to the operator. */
export function reported(reason: unknown, endpoint: HttpOptions): ConnectError {
  const error = connectErrorOf(reason, tableOf(endpoint));
  if (error.code === Code.Internal || error.code === Code.Unknown) endpoint.onError(error.cause ?? error);
  return error;
}
