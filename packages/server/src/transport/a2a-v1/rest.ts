import type { DescMethod, JsonValue } from "@bufbuild/protobuf";
import { assertExactJson, keepStart, parseJson } from "@devtool/schema";
import {
  type HttpBinding,
  httpBindingsOf,
  requestJson,
} from "@devtool/schema/a2a-v1";
import { restOperation } from "@devtool/schema/a2a-v03";
import { type Answer, writeAnswer } from "../http/answer.ts";
import { BodyTooLarge, hasJsonType, readBody } from "../http/body.ts";
import { ClientGone } from "../http/client-gone.ts";
import type { RequestContext } from "../http/request-context.ts";
import {
  type HttpRequest,
  type HttpResponse,
  headerOf,
  pathOf,
  queryOf,
  type Route,
  send,
  takesStream,
  valuesInQuery,
} from "../http/route.ts";
import { COMMANDS, runCommand } from "./commands.ts";
import { type Endpoint, reportError } from "./endpoint.ts";
import { A2aFailure, httpErrorFrom } from "./errors.ts";
import { createContext, type Operation } from "./operation.ts";
import { assertVersion, versionOf } from "./version.ts";

/** A method at a path and an HTTP method. */
interface Resource {
  readonly httpMethod: string;

  /** The path, with a name in braces for each variable part. */
  readonly template: string;

  readonly matches: (path: string) => boolean;

  readonly method: DescMethod;

  /**
   * Runs the method, and returns its answer in the form of JSON-RPC, which is
   * that of this binding too.
   */
  run(request: HttpRequest, context: RequestContext): Promise<Answer>;
}

/** The media type that A2A 1.0 has for its messages. */
const A2A_JSON = "application/a2a+json";

/**
 * The HTTP+JSON binding of A2A 1.0: a route for each HTTP annotation of its
 * proto, and for each method of the extension (CMD-1).
 */
export function restRoutes(endpoint: Endpoint): Route[] {
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
  ];
  const commands = [
    commandResource(endpoint, "GET", "/commands", "commands/get"),
    commandResource(endpoint, "POST", "/commands:execute", "command/execute"),
  ];
  return [...ordered, ...commands].map((resource) => ({
    name: `${resource.httpMethod} ${resource.template}`,
    access: "token",
    matches: (method, path) =>
      method === resource.httpMethod && resource.matches(path),
    handle: (request, response) =>
      answerResource(request, response, endpoint, resource),
  }));
}

function operationResource(
  endpoint: Endpoint,
  operation: Operation,
  binding: HttpBinding,
): Resource {
  const { httpMethod, template } = binding;
  const { method } = operation.spec;
  return {
    ...{ httpMethod, template, method },
    matches: (path) => binding.match(path) !== undefined,
    run: async (request, context) => {
      const json = requestJson(method.input, binding, {
        variables: binding.match(pathOf(request)) ?? new Map(),
        query: queryOf(request),
        // The body of a request to a method without one is not read.
        body:
          binding.body === ""
            ? undefined
            : await readJson(request, endpoint.maxRequestBytes),
      });
      return operation.run(json, context);
    },
  };
}

function commandResource(
  endpoint: Endpoint,
  httpMethod: "GET" | "POST",
  template: string,
  name: string,
): Resource {
  const method = COMMANDS.get(name);
  if (!method) throw new TypeError(`${name} is not a method of the extension`);
  const isRead = httpMethod === "GET";
  return {
    ...{ httpMethod, template, method },
    matches: (path) => path === template,
    run: async (request, context) => {
      assertVersion(versionOf(request));
      const params = isRead
        ? restOperation(name).decodeParams(
            {},
            { query: valuesInQuery(request), body: {} },
          )
        : await readJson(request, endpoint.maxRequestBytes);
      return runCommand(endpoint, {
        method: name,
        params,
        context,
        takesStream: !isRead && takesStream(request),
      });
    },
  };
}

async function answerResource(
  request: HttpRequest,
  response: HttpResponse,
  endpoint: Endpoint,
  { method, run }: Resource,
): Promise<void> {
  // A2A's own media type is for clients that name it. Older ones know plain
  // JSON only.
  const named = [
    headerOf(request, "accept"),
    headerOf(request, "content-type"),
  ];
  const contentType = named.some((header) =>
    header.toLowerCase().includes(A2A_JSON),
  )
    ? A2A_JSON
    : "application/json";
  const httpError = (reason: unknown) =>
    httpErrorFrom(reportError(reason, endpoint), endpoint.errorTable);
  const gone = new ClientGone(response, endpoint.shutdown);
  try {
    const context = createContext(request, method, gone.signal);
    const answered = {
      answer: await run(request, context),
      headers: () => context.takeAnswerHeaders(),
    };
    await writeAnswer(response, answered, {
      endpoint,
      contentType,
      wrap: (result) => result,
      error: (reason) => JSON.stringify(httpError(reason).body),
      errorEvent: "error",
    });
  } catch (reason) {
    if (response.destroyed || response.headersSent) return;
    const { status, body } = httpError(reason);
    send(response, reason instanceof BodyTooLarge ? 413 : status, {
      body: JSON.stringify(body),
      "content-type": contentType,
      "www-authenticate": status === 401 ? "Bearer" : undefined,
    });
  } finally {
    // Not `using`: as it is compiled, it costs an idle stream 300 bytes.
    gone[Symbol.dispose]();
  }
}

/**
 * Reads the body of a request as JSON; undefined when it is empty, as that of a
 * cancellation may be.
 */
async function readJson(
  request: HttpRequest,
  maxRequestBytes: number,
): Promise<JsonValue | undefined> {
  const text = await readBody(request, maxRequestBytes);
  if (text.trim() === "") return undefined;
  if (hasJsonType(request)) {
    const json = parseJson(text);
    assertExactJson(text);
    return json;
  }
  const type = JSON.stringify(keepStart(headerOf(request, "content-type"), 80));
  const message = `content type ${type} is not supported: send application/json or ${A2A_JSON}`;
  throw new A2aFailure(message, "CONTENT_TYPE_NOT_SUPPORTED");
}
