import type { JsonValue } from "@bufbuild/protobuf";
import { keepStart, shorten } from "@devtool/internal/cut-text";
import { assertExactJson, parseJson } from "@devtool/schema";
import {
  type HttpBinding,
  httpBindingsOf,
  requestJson,
} from "@devtool/schema/a2a-v1";
import { restOperation } from "@devtool/schema/a2a-v03";
import { type Answer, writeAnswer } from "../a2a/answer.ts";
import { queryOf, valuesInQuery } from "../a2a/query.ts";
import { assertJson, readBody } from "../http/body.ts";
import { HttpFailure } from "../http/failure.ts";
import { send } from "../http/route.ts";
import type { RoutedCall } from "../http/routed-call.ts";
import { runCommand } from "./commands.ts";
import { type A2aV1Endpoint, reportError } from "./endpoint.ts";
import { A2aFailure, httpErrorFrom } from "./errors.ts";
import { contextOf, type Operation } from "./operation.ts";
import { assertVersion, versionOf } from "./version.ts";

/** A method at a path and an HTTP method. */
interface Resource {
  readonly httpMethod: string;

  /** The path, with a name in braces for each variable part. */
  readonly template: string;

  readonly matches: (path: string) => boolean;

  /**
   * Runs the method, and returns its answer in the form of JSON-RPC, which is
   * that of this binding too.
   */
  run(call: RoutedCall): Promise<Answer>;
}

/** The media type that A2A 1.0 has for its messages. */
const A2A_JSON = "application/a2a+json";

/**
 * Creates the HTTP+JSON binding of A2A 1.0: a resource for each HTTP annotation
 * of its proto, and for each method of the extension (CMD-1).
 */
export function createRest(
  endpoint: A2aV1Endpoint,
): (call: RoutedCall) => Promise<void> {
  const resources = [...endpoint.operations.values()].flatMap((operation) =>
    httpBindingsOf(operation.spec.method).map((binding) =>
      operationResource(endpoint, operation, binding),
    ),
  );
  // `/tasks/{id}` also matches paths that end in a verb, so those with a verb
  // come first.
  const hasVerb = ({ template }: Resource): boolean => /:\w+$/.test(template);
  const ordered = [
    ...resources.filter(hasVerb),
    ...resources.filter((resource) => !hasVerb(resource)),
    commandResource(endpoint, "GET", "/commands", "commands/get"),
    commandResource(endpoint, "POST", "/commands:execute", "command/execute"),
  ];
  return async (call) => {
    const { path, request } = call;
    const resource = ordered.find(
      ({ httpMethod, matches }) =>
        httpMethod === request.method && matches(path),
    );
    if (resource) return answerResource(call, endpoint, resource);
    const problem = `nothing is served at ${request.method} ${shorten(path)}`;
    throw new HttpFailure(problem, 404);
  };
}

function operationResource(
  endpoint: A2aV1Endpoint,
  operation: Operation,
  binding: HttpBinding,
): Resource {
  const { httpMethod, template } = binding;
  const { method } = operation.spec;
  return {
    ...{ httpMethod, template },
    matches: (path) => binding.match(path) !== undefined,
    run: async (call) => {
      const json = requestJson(method.input, binding, {
        variables: binding.match(call.path) ?? new Map(),
        query: queryOf(call),
        // The body of a request to a method without one is not read.
        body:
          binding.body === ""
            ? undefined
            : await readJson(call, endpoint.maxRequestBytes),
      });
      return operation.run(json, contextOf(call, "http+json"));
    },
  };
}

function commandResource(
  endpoint: A2aV1Endpoint,
  httpMethod: "GET" | "POST",
  template: string,
  method: string,
): Resource {
  const isRead = httpMethod === "GET";
  return {
    ...{ httpMethod, template },
    matches: (path) => path === template,
    run: async (call) => {
      assertVersion(versionOf(call));
      const params = isRead
        ? restOperation(method).decodeParams(
            {},
            { query: valuesInQuery(call), body: {} },
          )
        : await readJson(call, endpoint.maxRequestBytes);
      const context = contextOf(call, "http+json");
      const takesStream = !isRead && call.takesStream;
      return runCommand(endpoint, { method, params, context, takesStream });
    },
  };
}

async function answerResource(
  call: RoutedCall,
  endpoint: A2aV1Endpoint,
  { run }: Resource,
): Promise<void> {
  const { request, response } = call;
  // A2A's own media type is for clients that name it. Older ones know plain
  // JSON only.
  const { accept = "", "content-type": sent = "" } = request.headers;
  const contentType = `${accept} ${sent}`.toLowerCase().includes(A2A_JSON)
    ? A2A_JSON
    : "application/json";
  const httpError = (reason: unknown) =>
    httpErrorFrom(reportError(reason, endpoint), endpoint.errorTable);
  try {
    await writeAnswer(call, await run(call), {
      endpoint,
      contentType,
      wrap: (result) => result,
      error: (reason) => JSON.stringify(httpError(reason).body),
      errorEvent: "error",
    });
  } catch (reason) {
    if (response.destroyed || response.headersSent) return;
    call.noteRefusal(reason);
    const { status, body } = httpError(reason);
    const isTooLarge = HttpFailure.from(reason).status === 413;
    send(response, isTooLarge ? 413 : status, {
      body: JSON.stringify(body),
      "content-type": contentType,
      "www-authenticate": status === 401 ? "Bearer" : undefined,
    });
  }
}

/**
 * Reads the body of a request as JSON; undefined when it is empty, as that of a
 * cancellation may be.
 */
async function readJson(
  { request }: RoutedCall,
  maxRequestBytes: number,
): Promise<JsonValue | undefined> {
  const text = await readBody(request, maxRequestBytes);
  if (text.trim() === "") return undefined;
  try {
    assertJson(request);
  } catch {
    const sent = request.headers["content-type"] ?? "";
    const type = JSON.stringify(keepStart(sent, 80));
    const message = `content type ${type} is not supported: send application/json or ${A2A_JSON}`;
    throw new A2aFailure(message, "CONTENT_TYPE_NOT_SUPPORTED");
  }
  const json = parseJson(text);
  assertExactJson(text);
  return json;
}
