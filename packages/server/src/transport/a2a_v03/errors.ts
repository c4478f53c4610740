import { create, fromJson } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import { WireError } from "@devtool/schema";
import { JsonRpcCode, type JsonRpcError, JsonRpcErrorSchema } from "@devtool/schema/a2a-v03";
import { Code, DevtoolError } from "../../errors.ts";
import { BodyTooLarge } from "../body.ts";

/** Turns what a call throws into the error that its client gets, with `data` that says which field or id is meant (ERR-1). */
export function jsonRpcErrorFrom(reason: unknown): JsonRpcError {
  if (reason instanceof JsonRpcFailure) return jsonRpcError(reason.code, reason.message);
  if (reason instanceof BodyTooLarge) return jsonRpcError(JsonRpcCode.INVALID_REQUEST, reason.message);
  if (reason instanceof WireError) return jsonRpcError(JsonRpcCode.INVALID_PARAMS, reason.message, reason);
  const error = DevtoolError.from(reason);
  return jsonRpcError(CODES[error.code], error.message, error.details);
}

/** A failure that has a code of JSON-RPC or A2A and no other. */
export class JsonRpcFailure extends Error {
  override readonly name = "JsonRpcFailure";

  constructor(
    message: string,
    readonly code: number,
  ) {
    super(message);
  }
}

const CODES: Readonly<Record<Code, number>> = {
  [Code.Canceled]: JsonRpcCode.UNSUPPORTED_OPERATION,
  [Code.Unknown]: JsonRpcCode.INTERNAL_ERROR,
  [Code.InvalidArgument]: JsonRpcCode.INVALID_PARAMS,
  [Code.DeadlineExceeded]: JsonRpcCode.INTERNAL_ERROR,
  [Code.NotFound]: JsonRpcCode.TASK_NOT_FOUND,
  [Code.AlreadyExists]: JsonRpcCode.INVALID_PARAMS,
  [Code.PermissionDenied]: JsonRpcCode.INVALID_PARAMS,
  [Code.ResourceExhausted]: JsonRpcCode.INTERNAL_ERROR,
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
