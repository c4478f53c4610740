import { replaceLoneSurrogates } from "@devtool/internal/exact-json";
import { WireError } from "@devtool/schema";
import { Code, DevtoolError } from "../../errors.ts";
import { BodyTooLarge, UnsupportedMediaType } from "./body.ts";
import {
  type Failure,
  type FailureAnswer,
  type FailureForm,
  finish,
  type HttpRequest,
  type HttpResponse,
} from "./route.ts";

/** The HTTP statuses of errors other than 500. */
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

/** A failure with an HTTP status that no `Code` maps to. */
export class HttpFailure extends Error {
  override readonly name = "HttpFailure";

  constructor(
    message: string,
    readonly status: number,
  ) {
    super(message);
  }

  /** Returns anything that is thrown with its message and its status. */
  static from(reason: unknown): HttpFailure {
    if (reason instanceof HttpFailure) return reason;
    const { message } =
      reason instanceof WireError ? reason : DevtoolError.from(reason);
    return new HttpFailure(message, statusOf(reason));
  }
}

/** A request, and the response to it. */
interface Exchanged {
  readonly request: HttpRequest;
  readonly response: HttpResponse;
}

/**
 * Answers a request with an error that was thrown while it was handled, with
 * the HTTP status of its code.
 *
 * Errors that are not the client's fault also go to `onError`.
 */
export async function sendFailure(
  exchanged: Exchanged,
  reason: unknown,
  onError: (reason: unknown) => void,
  form: FailureForm | undefined,
): Promise<void> {
  const { response } = exchanged;
  if (response.destroyed || response.headersSent) return;
  const failure = HttpFailure.from(reason);
  if (failure.status >= 500) onError(reason);
  finish(response, await beginFailure(exchanged, failure, form));
}

/** Sets the status and the headers of a failure, and returns its body. */
export async function beginFailure(
  { request, response }: Exchanged,
  failure: Failure,
  form: FailureForm = plainFailure,
): Promise<string | Uint8Array> {
  const answer = await form(failure, request);
  response.statusCode = answer.status ?? failure.status;
  response.setHeader("content-type", "application/json");
  for (const [name, value] of Object.entries(answer.headers ?? {})) {
    response.setHeader(name, value);
  }
  const { body } = answer;
  return typeof body === "string" ? replaceLoneSurrogates(body) : body;
}

function plainFailure({ message: error }: Failure): FailureAnswer {
  return { body: JSON.stringify({ error }) };
}

function statusOf(reason: unknown): number {
  if (reason instanceof BodyTooLarge) return 413;
  if (reason instanceof UnsupportedMediaType) return 415;
  if (reason instanceof WireError) return 400;
  const { code, details } = DevtoolError.from(reason);
  // With details it is a limit that the client can keep to. Without, the server
  // is out of resources, for instance of disk space.
  if (code === Code.ResourceExhausted && !details) return 507;
  return STATUSES[code] ?? 500;
}
