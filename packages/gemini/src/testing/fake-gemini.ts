import {
  type AnswerRequest,
  type ApiReply,
  type ApiRequest,
  estimateTokens,
  type FakeDialect,
  type FakeError,
  type FakeModel,
  type FakeModelOptions,
  RequestRefused,
  startFakeModel,
} from "@devtool/coding-agent/testing/fake-model";
import {
  listOrEmpty,
  objectOrEmpty,
  stringOrEmpty,
} from "@devtool/internal/json";
import { listSignatures, readConversation } from "./conversation.ts";
import { hasCredentials, parseResource, type Resource } from "./resource.ts";
import {
  createWholeResponse,
  minimalValue,
  streamEncoder,
} from "./response.ts";

/** The list of models, of the Gemini API or of Vertex AI. */
const MODELS_PATH =
  /^\/v1(?:alpha|beta|beta1)?\/(?:publishers\/google\/)?models$/;

/** The models that are listed. Any other name works as well. */
const MODELS = [
  {
    name: "models/gemini-test",
    displayName: "Gemini Test",
    inputTokenLimit: 1_048_576,
    supportedGenerationMethods: ["generateContent", "countTokens"],
  },
  {
    name: "models/embedding-test",
    inputTokenLimit: 2048,
    supportedGenerationMethods: ["embedContent"],
  },
];

const DIALECT: FakeDialect = {
  read(request) {
    const { verb, path, headers } = request;
    if (verb === "GET" && MODELS_PATH.test(path)) {
      return { case: "json", method: "models", value: { models: MODELS } };
    }
    const resource = parseResource(path);
    if (!resource || verb !== "POST") {
      throw new RequestRefused({
        status: 404,
        message: `no such resource: ${verb} ${path}`,
      });
    }
    if (!hasCredentials(resource, headers)) {
      throw new RequestRefused({
        status: 401,
        message:
          "the request has no credentials: send a bearer token or an API key",
      });
    }
    return replyOf(resource, request);
  },
  encodeError,
};

/**
 * Starts a Gemini API on loopback that needs no key and plays each prompt as a
 * script (docs/models.md).
 *
 * The API of Vertex AI is served too: it accepts any bearer token or, in
 * express mode, any key.
 */
export function startFakeGemini(
  options: FakeModelOptions = {},
): Promise<FakeModel> {
  return startFakeModel(DIALECT, options);
}

function replyOf(resource: Resource, { body }: ApiRequest): ApiReply {
  const { method } = resource;
  switch (method) {
    case "generateContent":
    case "streamGenerateContent":
      return readGenerateContent(resource, objectOrEmpty(body));
    case "countTokens": {
      const { contents, generateContentRequest } = objectOrEmpty(body);
      const counted =
        contents ?? objectOrEmpty(generateContentRequest).contents;
      const value = { totalTokens: estimateTokens(counted) };
      return { case: "json", method, value };
    }
    case "embedContent":
      return { case: "json", method, value: { embedding: EMBEDDING } };
    case "batchEmbedContents": {
      const requests = listOrEmpty(objectOrEmpty(body).requests);
      const value = { embeddings: requests.map(() => EMBEDDING) };
      return { case: "json", method, value };
    }
    default:
      throw new RequestRefused({
        status: 404,
        message: `no such method: ${method}`,
      });
  }
}

const EMBEDDING = { values: [0, 0, 0] };

function readGenerateContent(
  { method, model }: Resource,
  body: Readonly<Record<string, unknown>>,
): AnswerRequest {
  const { contents, tools, generationConfig } = body;
  const { responseMimeType, responseJsonSchema, responseSchema } =
    objectOrEmpty(generationConfig);
  const declared = listOrEmpty(tools)
    .flatMap((tool) => listOrEmpty(objectOrEmpty(tool).functionDeclarations))
    .map(objectOrEmpty);
  const request: AnswerRequest = {
    case: "answer",
    method,
    model,
    conversation: readConversation(contents),
    tools: declared.map(({ name, parameters, parametersJsonSchema }) => ({
      name: stringOrEmpty(name),
      parameters: parametersJsonSchema ?? parameters,
    })),
    calls: "scripted",
    signatures: listSignatures(contents),
    encode:
      method === "generateContent"
        ? { case: "whole", whole: createWholeResponse }
        : { case: "stream", stream: streamEncoder },
  };
  if (responseMimeType !== "application/json") return request;
  const value = minimalValue(responseJsonSchema ?? responseSchema);
  return { ...request, text: JSON.stringify(value) };
}

const STATUS_NAMES: Readonly<Record<number, string>> = {
  400: "INVALID_ARGUMENT",
  401: "UNAUTHENTICATED",
  403: "PERMISSION_DENIED",
  404: "NOT_FOUND",
  429: "RESOURCE_EXHAUSTED",
  500: "INTERNAL",
  503: "UNAVAILABLE",
};

/** Encodes an error in the form of Google's APIs. */
function encodeError({ status: code, message }: FakeError): unknown {
  return {
    error: { code, message, status: STATUS_NAMES[code] ?? "UNKNOWN" },
  };
}
