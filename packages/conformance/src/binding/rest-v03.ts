import { type JsonObject, type JsonValue, toJson } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import { EXTENSION_URI } from "@devtool/schema";
import {
  errorFromRest,
  JsonRpcCode,
  REST_OPERATIONS,
  type RestCall,
  type RestOperation,
  restOperation,
} from "@devtool/schema/a2a-v03";
import { fieldsOf, itemsOf } from "../json-fields.ts";
import { acceptOf } from "./accept.ts";
import { type Answered, type Binding, type Endpoint, type Exchange, errorDocument, resultDocument } from "./binding.ts";
import { namedRow } from "./error-details.ts";
import { type HttpAnswer, type HttpRequestInit, headersOf, objectsIn, sendHttp } from "./http.ts";

/** The HTTP+JSON binding of A2A 0.3 (section 3.5.3). */
export function restBindingV03(endpoint: Endpoint): Binding {
  return {
    name: "HTTP+JSON",
    protocolVersion: "0.3",
    endpoint: endpoint.url,
    has: (method) => REST_OPERATIONS.some((operation) => operation.method === method),
    async play({ method, params = {}, headers, leaveAfter }, recording, signal) {
      const operation = restOperation(method);
      const send = async (call: RestCall): Promise<Exchange> => {
        const request = requestOf(call, endpoint, { accept: acceptOf(method), changes: headers });
        return exchangeOf(await sendHttp(request, { recording, leaveAfter, trust: endpoint.trust }, signal), operation);
      };
      const exchange = await send(operation.encodeCall(params));
      const other = isUnusable(exchange) ? operation.encodeOtherCall?.(params) : undefined;
      return other ? send(other) : exchange;
    },
  };
}

function requestOf(
  { httpMethod, path, body }: RestCall,
  { url, token }: Endpoint,
  { accept, changes }: { readonly accept: string; readonly changes: Readonly<Record<string, string>> },
): HttpRequestInit {
  const content = body && { "content-type": "application/json" };
  return {
    method: httpMethod,
    url: `${url.replace(/\/+$/, "")}${path}`,
    headers: headersOf({ "x-a2a-extensions": EXTENSION_URI, accept, ...content }, { token, changes }),
    body: body && JSON.stringify(body),
  };
}

/** Whether the server says that it cannot use the parameters. */
function isUnusable({ documents }: Exchange): boolean {
  const [document] = documents;
  return fieldsOf(document?.json.error).code === JsonRpcCode.INVALID_PARAMS;
}

/** Who is not let in, or sends too much, may be told so by something before the agent. */
function exchangeOf(answer: HttpAnswer, operation: RestOperation): Exchange {
  const { status } = answer;
  if (status === 401 || status === 403 || status === 413) {
    return { ...answer, documents: objectsIn(answer), breaches: [] };
  }
  const documents = answer.documents.map(
    ({ id, json }): Answered => ({
      id,
      json: errorIn(json, status) ?? resultDocument(operation.decodeResult(json)),
    }),
  );
  return { ...answer, status: status >= 400 && documents.length > 0 ? 200 : status, documents, breaches: [] };
}

/**
 * An error as JSON-RPC has it, also in the middle of a stream; undefined for a result. A2A 0.3 leaves its form open, and a
 * server that speaks 1.0 too may write that one's.
 */
function errorIn(json: JsonValue, status: number): JsonObject | undefined {
  const { message, details } = fieldsOf(fieldsOf(json).error);
  const row = namedRow(itemsOf(details));
  if (row) return errorDocument(row.code, String(message ?? ""), details);
  const error = errorFromRest(json, status);
  if (error) return errorDocument(error.code, error.message, error.data && toJson(ValueSchema, error.data));
  if (status < 400) return undefined;
  return errorDocument(JsonRpcCode.INTERNAL_ERROR, `HTTP ${status}: ${JSON.stringify(json).slice(0, 200)}`, undefined);
}
