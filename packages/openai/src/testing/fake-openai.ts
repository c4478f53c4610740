import {
  type FakeDialect,
  type FakeError,
  type FakeModel,
  type FakeModelOptions,
  RequestRefused,
  startFakeModel,
} from "@devtool/coding-agent/testing/fake-model";
import { stringOrEmpty } from "@devtool/internal/json";
import { readChatRequest } from "./chat-request.ts";
import { readResponsesRequest } from "./responses-request.ts";

/** Options of `startFakeOpenAi`. */
export interface FakeOpenAiOptions extends FakeModelOptions {
  /**
   * The models that `GET /v1/models` lists. Any other name works as well.
   * Default: `gpt-test`.
   */
  readonly models?: readonly string[];
  /**
   * Whether requests need a key (`Authorization: Bearer …`), as OpenAI's do and
   * those of a local server do not. Default: `required`.
   */
  readonly key?: "required" | "optional";
}

/**
 * Starts a fake of OpenAI's API: `POST /v1/responses`,
 * `POST /v1/chat/completions` and `GET /v1/models`.
 *
 * It plays each prompt as a script (docs/models.md), as a stream or in
 * one piece. It refuses, as OpenAI does, requests without a key, with
 * parameters that it does not know, with results of calls that nobody made,
 * with calls that have no result, and with reasoning that was changed.
 */
export function startFakeOpenAi(
  options: FakeOpenAiOptions = {},
): Promise<FakeModel> {
  const { models = ["gpt-test"], key = "required" } = options;
  const dialect: FakeDialect = {
    read({ verb, path, headers, body }) {
      if (
        key === "required" &&
        !/^Bearer \S+/.test(headers.authorization ?? "")
      ) {
        throw new RequestRefused({
          status: 401,
          message: "You didn't provide an API key.",
        });
      }
      switch (`${verb} ${path}`) {
        case "POST /v1/responses":
          return readResponsesRequest(body);
        case "POST /v1/chat/completions":
          return readChatRequest(body);
        case "GET /v1/models":
          return { case: "json", method: "models", value: listModels(models) };
        default:
          throw new RequestRefused({
            status: 404,
            message: `Invalid URL (${verb} ${path})`,
          });
      }
    },
    encodeError,
  };
  return startFakeModel(dialect, options);
}

function listModels(models: readonly string[]): object {
  return {
    object: "list",
    data: models.map((id) => ({
      id,
      object: "model",
      created: 0,
      owned_by: "devtool",
    })),
  };
}

const ERROR_TYPES: Readonly<
  Record<number, readonly [type: string, code: string | null]>
> = {
  401: ["invalid_request_error", "invalid_api_key"],
  403: ["invalid_request_error", "unsupported_country_region_territory"],
  429: ["requests", "rate_limit_exceeded"],
};

function encodeError({ status, message, type, param }: FakeError): unknown {
  const [kind, code] = ERROR_TYPES[status] ?? [
    status >= 500 ? "server_error" : "invalid_request_error",
    null,
  ];
  return {
    error: {
      message,
      type: kind,
      param: stringOrEmpty(param) || null,
      code: type ?? code,
    },
  };
}
