import type { ServerResponse } from "node:http";
import { sendJson } from "@devtool/fake-model";

const STATUS_NAMES: Readonly<Record<number, string>> = {
  400: "INVALID_ARGUMENT",
  401: "UNAUTHENTICATED",
  403: "PERMISSION_DENIED",
  404: "NOT_FOUND",
  429: "RESOURCE_EXHAUSTED",
  500: "INTERNAL",
  503: "UNAVAILABLE",
};

/** Sends an error in the form of Google's APIs. */
export function sendError(
  response: ServerResponse,
  {
    code,
    message,
    retryAfterMs,
  }: {
    readonly code: number;
    readonly message: string;
    readonly retryAfterMs?: number;
  },
): void {
  const status = STATUS_NAMES[code] ?? "UNKNOWN";
  if (retryAfterMs !== undefined) {
    response.setHeader("retry-after", String(retryAfterMs / 1000));
  }
  sendJson(response, code, { error: { code, message, status } });
}

/**
 * Responds to a request whose handler threw: 400 for a body that is not JSON,
 * otherwise 500. Closes a response that has begun.
 */
export function sendFailure(response: ServerResponse, reason: unknown): void {
  if (response.headersSent) {
    response.destroy();
  } else {
    sendError(response, {
      code: reason instanceof SyntaxError ? 400 : 500,
      message: String(reason),
    });
  }
}
