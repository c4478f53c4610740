import { create, fromJson } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import { WireError } from "@devtool/schema";
import {
  a2aErrorText,
  a2aFieldName,
  JsonRpcCode,
  type JsonRpcError,
  JsonRpcErrorSchema,
} from "@devtool/schema/a2a-v03";
import { Code, DevtoolError } from "../../errors.ts";
import { BodyTooLarge, UnsupportedMediaType } from "../http/body.ts";
import { JsonRpcFailure } from "../http/json-rpc.ts";

/** Turns what a call throws into the error that its client gets, in JSON-RPC of A2A 0.3, with `data` that says which field or id is meant (ERR-1). */
export function jsonRpcErrorFrom(reason: unknown): JsonRpcError {
  if (reason instanceof JsonRpcFailure) return jsonRpcError(reason.code, reason.message);
  if (reason instanceof BodyTooLarge || reason instanceof UnsupportedMediaType) {
    return jsonRpcError(JsonRpcCode.INVALID_REQUEST, reason.message);
  }
  if (reason instanceof WireError) return jsonRpcError(JsonRpcCode.INVALID_PARAMS, reason.message, reason);
  const error = DevtoolError.from(reason);
  const { message, details } = error;
  if (!details) return jsonRpcError(CODES[error.code], message);
  // A limit that names what the client sent is one that the client can keep to; a disk that is full is the server's fault.
  const code = error.code === Code.ResourceExhausted ? JsonRpcCode.UNSUPPORTED_OPERATION : CODES[error.code];
  const meant = { ...details, field: a2aFieldName(details.field) };
  return jsonRpcError(code, a2aErrorText(message, details.field), meant);
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
  [Code.Unimplemented]: JsonRpcCode.UNSUPPORTED_OPERATION,
  [Code.Internal]: JsonRpcCode.INTERNAL_ERROR,
  [Code.Unavailable]: JsonRpcCode.INTERNAL_ERROR,
  [Code.DataLoss]: JsonRpcCode.INTERNAL_ERROR,
  [Code.Unauthenticated]: JsonRpcCode.INVALID_REQUEST,
};

function jsonRpcError(
  code: number,
  message: string,
  meant?: { readonly field: string; readonly value: string },
): JsonRpcError {
  const named = meant && meant.field !== "";
  return create(JsonRpcErrorSchema, {
    code,
    message,
    ...(named && { data: fromJson(ValueSchema, { field: meant.field, value: meant.value }) }),
  });
}
