import { ConnectError, type Interceptor } from "@connectrpc/connect";
import { ErrorContextSchema, WireError } from "@devtool/schema";
import { Code, DevtoolError } from "../../errors.ts";
import { correct } from "./malformed.ts";

/** Turns what a handler throws into the error that Connect, gRPC and gRPC-Web send, with its context as a detail. */
export function connectErrorFrom(reason: unknown): ConnectError {
  if (reason instanceof ConnectError) return reason;
  const error =
    reason instanceof WireError ? new DevtoolError(reason.message, Code.InvalidArgument) : DevtoolError.from(reason);
  const { message, code, details, remedy, cause } = error;
  const context = details || remedy !== "" ? [{ desc: ErrorContextSchema, value: { ...details, remedy } }] : [];
  return new ConnectError(message, code, undefined, context, cause);
}

/** Applies `connectErrorFrom` to every call, also to what a stream throws later. */
export function errorInterceptor(onError: (reason: unknown) => void): Interceptor {
  const translate = (reason: unknown): ConnectError => {
    correct(reason);
    const error = connectErrorFrom(reason);
    if (error.code === Code.Internal) onError(reason);
    return error;
  };
  return (next) => async (request) => {
    try {
      const response = await next(request);
      return response.stream ? { ...response, message: translated(response.message, translate) } : response;
    } catch (reason) {
      throw translate(reason);
    }
  };
}

async function* translated<T>(
  messages: AsyncIterable<T>,
  translate: (reason: unknown) => ConnectError,
): AsyncIterable<T> {
  try {
    yield* messages;
  } catch (reason) {
    throw translate(reason);
  }
}
