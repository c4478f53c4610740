import { Code } from "../../errors.ts";
import type { FailureForm } from "../http/route.ts";

/** The flag of the envelope that ends a stream of Connect. */
const END_OF_STREAM = 2;

/** The codes of statuses, with their names in Connect. */
const CODES: ReadonlyMap<number, readonly [Code, string]> = new Map([
  [401, [Code.Unauthenticated, "unauthenticated"]],
  [403, [Code.PermissionDenied, "permission_denied"]],
  [404, [Code.Unimplemented, "unimplemented"]],
  [409, [Code.Aborted, "aborted"]],
  [429, [Code.ResourceExhausted, "resource_exhausted"]],
  [501, [Code.Unimplemented, "unimplemented"]],
  [503, [Code.Unavailable, "unavailable"]],
  [507, [Code.ResourceExhausted, "resource_exhausted"]],
]);
const INVALID: readonly [Code, string] = [
  Code.InvalidArgument,
  "invalid_argument",
];
const INTERNAL: readonly [Code, string] = [Code.Internal, "internal"];

/** Writes a failure in the protocol of its request: gRPC, gRPC-Web or Connect. */
export const connectFailure: FailureForm = ({ status, message }, request) => {
  const type = (request.headers["content-type"] ?? "").toLowerCase();
  const other = status < 500 ? INVALID : INTERNAL;
  const [code, name] = CODES.get(status) ?? other;
  if (type.startsWith("application/grpc")) {
    // Trailers only: HTTP status 200, the gRPC status in a header, and no body.
    const headers = {
      "content-type": type,
      "grpc-status": String(code),
      // Encodes no more than must be: grpc-js shows a needless `%3A` in the
      // message as it is.
      "grpc-message": message
        .toWellFormed()
        .replace(/[^ -~]|%/gu, encodeURIComponent),
    };
    return { status: 200, headers, body: "" };
  }
  const error = { code: name, message };
  if (!type.startsWith("application/connect+")) {
    return { body: JSON.stringify(error) };
  }
  // A stream ends with the error in an envelope.
  const json = Buffer.from(JSON.stringify({ error }));
  const head = Buffer.alloc(5);
  head.writeUInt8(END_OF_STREAM);
  head.writeUInt32BE(json.length, 1);
  const body = Buffer.concat([head, json]);
  return { status: 200, headers: { "content-type": type }, body };
};
