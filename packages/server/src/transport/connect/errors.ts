import {
  ConnectError,
  type ContextKey,
  createContextKey,
  type HandlerContext,
  type Interceptor,
} from "@connectrpc/connect";
import { keepStart } from "@devtool/internal/cut-text";
import { ErrorContextSchema, WireError } from "@devtool/schema";
import { Code, DevtoolError } from "../../errors.ts";
import type { RoutedCall } from "../http/routed-call.ts";

/**
 * The messages of the library for a request with malformed bytes: the message,
 * the frame, or the compression.
 */
const MALFORMED_REQUEST =
  /^(parse binary: |invalid envelope|received compressed envelope|decompression failed)/;

/** The context value for the HTTP request of a call. */
export const routedCallKey: ContextKey<RoutedCall | undefined> =
  createContextKey<RoutedCall | undefined>(undefined);

/**
 * Returns the error that Connect, gRPC and gRPC-Web send for anything a handler
 * throws, with its context as a detail.
 */
export function connectErrorFrom(reason: unknown): ConnectError {
  if (reason instanceof ConnectError) return reason;
  const error =
    reason instanceof WireError
      ? new DevtoolError(reason.message, Code.InvalidArgument)
      : DevtoolError.from(reason);
  const { message, code, details, remedy, cause } = error;
  const context =
    details || remedy !== ""
      ? [{ desc: ErrorContextSchema, value: { ...details, remedy } }]
      : [];
  return new ConnectError(message, code, undefined, context, cause);
}

/**
 * Applies `connectErrorFrom` to every call, and to what streams throw later.
 *
 * Internal errors also go to `onError`, unless the client has closed the
 * connection.
 */
export function errorInterceptor(
  onError: (reason: unknown) => void,
): Interceptor {
  const translate = (
    reason: unknown,
    routed: RoutedCall | undefined,
  ): ConnectError => {
    correctError(reason);
    const error = connectErrorFrom(reason);
    if (error.code === Code.Internal) (routed?.report ?? onError)(reason);
    return error;
  };
  const translateStream = async function* <T>(
    messages: AsyncIterable<T>,
    routed: RoutedCall | undefined,
  ): AsyncIterable<T> {
    try {
      yield* messages;
    } catch (reason) {
      throw translate(reason, routed);
    }
  };
  return (next) => async (call) => {
    const routed = call.contextValues.get(routedCallKey);
    try {
      const response = await next(call);
      return response.stream
        ? { ...response, message: translateStream(response.message, routed) }
        : response;
    } catch (reason) {
      throw translate(reason, routed);
    }
  };
}

/**
 * Makes malformed bytes in a request an error of the client (ERR-1).
 *
 * The library reports them as an internal error of the server, which is HTTP
 * status 500 in Connect. It aborts the context with the error before it writes
 * the error, so the code can still be corrected then. Our own errors have other
 * messages. The operator sees the error if the request reached no method; the
 * library aborts the context of a call that has succeeded, too, with another
 * reason.
 */
export function blameClient({ signal, values }: HandlerContext): void {
  const correct = (): void => {
    if (!(signal.reason instanceof ConnectError)) return;
    correctError(signal.reason);
    values.get(routedCallKey)?.noteRefusal(signal.reason);
  };
  signal.addEventListener("abort", correct, { once: true });
}

/**
 * Corrects an error of the library about malformed bytes: its code, and its
 * message, which names our protobuf packages.
 */
function correctError(reason: unknown): void {
  if (!(reason instanceof ConnectError)) return;
  if (reason.rawMessage.startsWith("cannot decode ")) {
    const value = keepStart(
      reason.rawMessage.replace(/\b(?:[a-z]\w*\.)+(?=[A-Z])/g, ""),
      300,
    );
    Object.defineProperty(reason, "rawMessage", { value });
  }
  if (
    reason.code !== Code.Internal ||
    !MALFORMED_REQUEST.test(reason.rawMessage)
  ) {
    return;
  }
  Object.defineProperty(reason, "code", { value: Code.InvalidArgument });
}
