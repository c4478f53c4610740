import { create, fromJson } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import { defined } from "@devtool/internal/json";
import { WireError } from "@devtool/schema";
import {
  JsonRpcCode,
  type JsonRpcError,
  JsonRpcErrorSchema,
} from "@devtool/schema/a2a-v03";
import { Code, DevtoolError } from "../../errors.ts";
import { HttpFailure } from "../http/failure.ts";
import { a2aErrorText, a2aFieldName } from "./field-name.ts";
import { JsonRpcFailure } from "./json-rpc.ts";

/** The part of a request that an error is about. */
interface Subject {
  /** The field in the terms of the request; empty when no field is known. */
  readonly field: string;
  readonly value: string;
}

const CODES: Readonly<Record<Code, number>> = {
  [Code.Canceled]: JsonRpcCode.UNSUPPORTED_OPERATION,
  [Code.Unknown]: JsonRpcCode.INTERNAL_ERROR,
  [Code.InvalidArgument]: JsonRpcCode.INVALID_PARAMS,
  [Code.DeadlineExceeded]: JsonRpcCode.INTERNAL_ERROR,
  [Code.NotFound]: JsonRpcCode.TASK_NOT_FOUND,
  [Code.AlreadyExists]: JsonRpcCode.ALREADY_EXISTS,
  [Code.PermissionDenied]: JsonRpcCode.INVALID_PARAMS,
  [Code.ResourceExhausted]: JsonRpcCode.RESOURCE_EXHAUSTED,
  [Code.FailedPrecondition]: JsonRpcCode.UNSUPPORTED_OPERATION,
  [Code.Aborted]: JsonRpcCode.UNSUPPORTED_OPERATION,
  [Code.OutOfRange]: JsonRpcCode.INVALID_PARAMS,
  // Notifications are the only service that a server may lack.
  [Code.Unimplemented]: JsonRpcCode.PUSH_NOTIFICATION_NOT_SUPPORTED,
  [Code.Internal]: JsonRpcCode.INTERNAL_ERROR,
  [Code.Unavailable]: JsonRpcCode.UNAVAILABLE,
  [Code.DataLoss]: JsonRpcCode.INTERNAL_ERROR,
  [Code.Unauthenticated]: JsonRpcCode.INVALID_REQUEST,
};

/**
 * Returns the JSON-RPC error of A2A 0.3 for anything that a call throws.
 *
 * Its `data` names the field or id in the request that the error is about
 * (ERR-1).
 */
export function jsonRpcErrorFrom(reason: unknown): JsonRpcError {
  if (reason instanceof JsonRpcFailure) {
    return jsonRpcError(reason.code, reason.message);
  }
  if (reason instanceof WireError) {
    return jsonRpcError(JsonRpcCode.INVALID_PARAMS, reason.message, reason);
  }
  const error = DevtoolError.from(reason);
  const { message, details } = error;
  if ([413, 415].includes(HttpFailure.from(reason).status)) {
    return jsonRpcError(JsonRpcCode.INVALID_REQUEST, message);
  }
  if (!details) return jsonRpcError(CODES[error.code], message);
  // With details it is a limit that the client can keep to. Without, the server
  // is out of resources, for instance of disk space.
  const code =
    error.code === Code.ResourceExhausted
      ? JsonRpcCode.UNSUPPORTED_OPERATION
      : CODES[error.code];
  const subject = { field: a2aFieldName(details.field), value: details.value };
  return jsonRpcError(code, a2aErrorText(message, details.field), subject);
}

function jsonRpcError(
  code: number,
  message: string,
  subject?: Subject,
): JsonRpcError {
  const { field = "", value = "" } = subject ?? {};
  const data =
    field === "" ? undefined : fromJson(ValueSchema, { field, value });
  return create(JsonRpcErrorSchema, defined({ code, message, data }));
}
