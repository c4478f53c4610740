import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isObject } from "@devtool/internal/json";
import {
  errorToRest,
  JsonRpcCode,
  REST_OPERATIONS,
} from "@devtool/schema/a2a-v03";
import { quoted } from "../../errors.ts";
import { callKeys } from "../../handler/caller.ts";
import { writeAnswer } from "../a2a/answer.ts";
import { JsonRpcFailure, parseBody } from "../a2a/json-rpc.ts";
import { valuesInQuery } from "../a2a/query.ts";
import { assertJson, readBody } from "../http/body.ts";
import { send } from "../http/route.ts";
import type { RoutedCall } from "../http/routed-call.ts";
import { type A2aV03Endpoint, callMethod } from "./endpoint.ts";
import { NoOperation, reportError, restStatusOf } from "./errors.ts";

/** The prefix of all paths of the binding. */
const PREFIX = "/v1/";

/**
 * Answers a request of the HTTP+JSON binding of A2A 0.3, with the methods of
 * JSON-RPC.
 */
export async function answerRest(
  call: RoutedCall,
  endpoint: A2aV03Endpoint,
): Promise<void> {
  const { response, context } = call;
  context.values.set(callKeys.binding, "a2a-0.3/http+json");
  let params: JsonObject | undefined;
  const error = (reason: unknown) =>
    errorToRest(reportError(reason, endpoint, params));
  try {
    const asked = await readCall(call, endpoint.maxRequestBytes);
    params = asked.params;
    await writeAnswer(call, await callMethod(call, endpoint, asked), {
      endpoint,
      body: (value) => JSON.stringify(asked.encodeResult(value)),
      wrap: (result) => JSON.stringify(asked.encodeResult(JSON.parse(result))),
      error: (reason) => JSON.stringify(error(reason)),
      errorEvent: "error",
    });
  } catch (reason) {
    if (response.destroyed || response.headersSent) return;
    call.noteRefusal(reason);
    const body = error(reason);
    const status = restStatusOf(reason, body.code);
    send(response, status, {
      body: JSON.stringify(body),
      allow:
        reason instanceof NoOperation
          ? reason.httpMethods.join(", ")
          : undefined,
      "www-authenticate": status === 401 ? "Bearer" : undefined,
    });
  }
}

/** A request in terms of JSON-RPC. */
interface RequestedMethod {
  readonly method: string;
  readonly params: JsonObject;
  /** Returns a result of JSON-RPC in the form that it has in this binding. */
  encodeResult(result: JsonValue): JsonValue;
}

/**
 * Reads a request.
 *
 * Throws a `NoOperation` for a path, or an HTTP method of a path, that A2A 0.3
 * does not have.
 */
async function readCall(
  call: RoutedCall,
  maxRequestBytes: number,
): Promise<RequestedMethod> {
  const { request } = call;
  const text = await readBody(request, maxRequestBytes);
  // The type of an empty body does not matter: some clients name one, others do
  // not.
  const isEmpty = text.trim() === "";
  if (!isEmpty) assertJson(request);
  // Not trimmed for the parser: `trim` removes what JSON does not permit, such
  // as a byte order mark.
  const body = isEmpty ? {} : parseBody(text);
  if (!isObject(body)) {
    throw new JsonRpcFailure(
      "the body is not a JSON object: send one",
      JsonRpcCode.INVALID_REQUEST,
    );
  }
  const path = call.path.slice(PREFIX.length);
  const matches = REST_OPERATIONS.flatMap((operation) => {
    const ids = operation.match(path);
    return ids ? [{ operation, ids }] : [];
  });
  const httpMethod = request.method ?? "";
  const match = matches.find(({ operation }) =>
    operation.httpMethods.includes(httpMethod),
  );
  if (!match) {
    const where = quoted(`${PREFIX}${path}`);
    const httpMethods = matches.flatMap(
      ({ operation }) => operation.httpMethods,
    );
    const message =
      httpMethods.length === 0
        ? `path ${where} does not exist in A2A 0.3: see its section 3.5.3`
        : `${httpMethod} ${where} does not exist: use ${httpMethods.join(" or ")}`;
    throw new NoOperation(message, httpMethods);
  }
  const { operation, ids } = match;
  const params = operation.decodeParams(ids, {
    query: valuesInQuery(call),
    body,
  });
  return {
    method: operation.method,
    params,
    encodeResult: operation.encodeResult,
  };
}
