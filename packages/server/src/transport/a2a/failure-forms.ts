import { create } from "@bufbuild/protobuf";
import {
  errorToRest,
  JsonRpcCode,
  JsonRpcErrorSchema,
} from "@devtool/schema/a2a-v03";
import type { FailureForm } from "../http/route.ts";

/** The names in `google.rpc` of statuses. */
const NAMES: ReadonlyMap<number, string> = new Map([
  [401, "UNAUTHENTICATED"],
  [403, "PERMISSION_DENIED"],
  [404, "NOT_FOUND"],
  [409, "ABORTED"],
  [429, "RESOURCE_EXHAUSTED"],
  [501, "UNIMPLEMENTED"],
  [503, "UNAVAILABLE"],
  [507, "RESOURCE_EXHAUSTED"],
]);

/** Writes a failure as JSON-RPC of all versions does. */
export const jsonRpcFailure: FailureForm = ({ status, message }) => {
  const error = { code: rpcCodeOf(status), message };
  return { body: JSON.stringify({ jsonrpc: "2.0", id: null, error }) };
};

/** Writes a failure as HTTP+JSON of A2A 0.3 does. */
export const restV03Failure: FailureForm = ({ status, message }) => {
  const code = rpcCodeOf(status);
  const error = create(JsonRpcErrorSchema, { code, message });
  return { body: JSON.stringify(errorToRest(error)) };
};

/** Writes a failure as HTTP+JSON of A2A 1.0 does (section 11.6). */
export const restV1Failure: FailureForm = ({ status: code, message }) => {
  const other = code < 500 ? "INVALID_ARGUMENT" : "INTERNAL";
  const status = NAMES.get(code) ?? other;
  const error = { code, status, message, details: [] };
  return { body: JSON.stringify({ error }) };
};

function rpcCodeOf(status: number): number {
  return status < 500
    ? JsonRpcCode.INVALID_REQUEST
    : JsonRpcCode.INTERNAL_ERROR;
}
