import { toJson } from "@bufbuild/protobuf";
import { WireError } from "@devtool/schema";
import { ErrorResponseSchema } from "@devtool/schema/gemini-cli";
import { Code, DevtoolError } from "../../errors.ts";
import { BodyTooLarge } from "../http/body.ts";
import { type HttpResponse, send } from "../http/route.ts";

/** A failure that has an HTTP status and no code of ours. */
export class HttpFailure extends Error {
  override readonly name = "HttpFailure";

  constructor(
    message: string,
    readonly status: number,
  ) {
    super(message);
  }
}

/** Answers a request with what was thrown while it was handled. What is no fault of the client goes to `onError` too. */
export function sendFailure(response: HttpResponse, reason: unknown, onError: (reason: unknown) => void): void {
  if (response.destroyed || response.headersSent) return;
  const { status, message } = failureOf(reason);
  if (status >= 500) onError(reason);
  const error = toJson(ErrorResponseSchema, { $typeName: "devtool.coder_agent.v1alpha.ErrorResponse", error: message });
  send(response, status, { body: JSON.stringify(error) });
}

function failureOf(reason: unknown): { readonly status: number; readonly message: string } {
  if (reason instanceof HttpFailure) return reason;
  if (reason instanceof BodyTooLarge) return { status: 413, message: reason.message };
  if (reason instanceof WireError) return { status: 400, message: reason.message };
  const { code, message, details } = DevtoolError.from(reason);
  // Without a field it is the server that has no room.
  if (code === Code.ResourceExhausted && !details) return { status: 507, message };
  return { status: STATUSES[code] ?? 500, message };
}

const STATUSES: Readonly<Partial<Record<Code, number>>> = {
  [Code.InvalidArgument]: 400,
  [Code.OutOfRange]: 400,
  [Code.Unauthenticated]: 401,
  [Code.PermissionDenied]: 403,
  [Code.NotFound]: 404,
  [Code.AlreadyExists]: 409,
  [Code.Aborted]: 409,
  [Code.FailedPrecondition]: 409,
  [Code.ResourceExhausted]: 429,
  [Code.Unimplemented]: 501,
  [Code.Unavailable]: 503,
};
