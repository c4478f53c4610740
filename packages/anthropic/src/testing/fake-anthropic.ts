import {
  type FakeDialect,
  type FakeError,
  type FakeModel,
  type FakeModelOptions,
  RequestRefused,
  startFakeModel,
} from "@devtool/coding-agent/testing/fake-model";
import { readMessagesRequest } from "./messages-request.ts";

/** Options of `startFakeAnthropic`. */
export interface FakeAnthropicOptions extends FakeModelOptions {
  /**
   * The models that `GET /v1/models` lists. Any other name works as well.
   * Default: `claude-test`.
   */
  readonly models?: readonly string[];
}

/**
 * Starts a fake of Anthropic's API: `POST /v1/messages` and `GET /v1/models`.
 *
 * It plays each prompt as a script (docs/models.md), as a stream or in
 * one piece. It refuses, as Anthropic does, requests without a key or version,
 * with fields that it does not know, with empty texts, with calls that the next
 * message does not answer, and with thoughts that were changed or left out
 * between calls.
 */
export function startFakeAnthropic(
  options: FakeAnthropicOptions = {},
): Promise<FakeModel> {
  const { models = ["claude-test"] } = options;
  const dialect: FakeDialect = {
    read({ verb, path, headers, body }) {
      const hasKey =
        (headers["x-api-key"] ?? "") !== "" ||
        /^Bearer \S+/.test(headers.authorization ?? "");
      if (!hasKey) {
        throw new RequestRefused({
          status: 401,
          message: "x-api-key header is required",
        });
      }
      if (!/^\d{4}-\d\d-\d\d$/.test(String(headers["anthropic-version"]))) {
        throw new RequestRefused({
          status: 400,
          message: "anthropic-version: header is required",
        });
      }
      switch (`${verb} ${path}`) {
        case "POST /v1/messages":
          return readMessagesRequest(body);
        case "GET /v1/models":
          return { case: "json", method: "models", value: listModels(models) };
        default:
          throw new RequestRefused({ status: 404, message: "Not Found" });
      }
    },
    encodeError,
  };
  return startFakeModel(dialect, options);
}

function listModels(models: readonly string[]): object {
  const data = models.map((id) => ({
    type: "model",
    id,
    display_name: id,
    created_at: "1970-01-01T00:00:00Z",
  }));
  return {
    data,
    has_more: false,
    first_id: models[0] ?? null,
    last_id: models.at(-1) ?? null,
  };
}

const ERROR_TYPES: Readonly<Record<number, string>> = {
  401: "authentication_error",
  403: "permission_error",
  404: "not_found_error",
  413: "request_too_large",
  429: "rate_limit_error",
  500: "api_error",
  504: "timeout_error",
  529: "overloaded_error",
};

function encodeError({ status, message, type }: FakeError): unknown {
  const kind =
    type ??
    ERROR_TYPES[status] ??
    (status >= 500 ? "api_error" : "invalid_request_error");
  return {
    type: "error",
    error: { type: kind, message },
    request_id: "req_fake",
  };
}
