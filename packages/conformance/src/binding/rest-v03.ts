import { type JsonValue, toJson } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import { defined, listOrEmpty, objectOrEmpty } from "@devtool/internal/json";
import { EXTENSION_URI } from "@devtool/schema";
import {
  errorFromRest,
  JsonRpcCode,
  REST_OPERATIONS,
  type RestCall,
  type RestOperation,
  restOperation,
} from "@devtool/schema/a2a-v03";
import { preview } from "../match/match.ts";
import { readResultV03 } from "./a2a-json-v03.ts";
import {
  type AnswerDocument,
  type Binding,
  type Breach,
  type Endpoint,
  type Exchange,
  errorDocument,
  REFUSED_STATUSES,
  resultDocument,
} from "./binding.ts";
import { findNamedRow } from "./error-details.ts";
import {
  acceptedType,
  asObjects,
  contentBreaches,
  type HttpAnswer,
  requestHeaders,
  sendHttp,
} from "./http.ts";

/**
 * The HTTP+JSON binding of A2A 0.3 (section 3.5.3).
 */
export function restBindingV03({ url, token, trust }: Endpoint): Binding {
  return {
    name: "HTTP+JSON",
    protocolVersion: "0.3",
    endpoint: url,
    has: (method) =>
      REST_OPERATIONS.some((operation) => operation.method === method),
    async play(
      { method, params = {}, headers, leaveAfter },
      recording,
      signal,
    ) {
      const operation = restOperation(method);
      const send = async ({
        httpMethod,
        path,
        body,
      }: RestCall): Promise<Exchange> => {
        const usual = defined({
          "x-a2a-extensions": EXTENSION_URI,
          accept: acceptedType(method),
          "content-type": body ? "application/json" : undefined,
        });
        const request = {
          method: httpMethod,
          url: `${url.replace(/\/+$/, "")}${path}`,
          headers: requestHeaders(usual, token, headers),
          body: body && JSON.stringify(body),
        };
        return readExchange(
          await sendHttp(request, { recording, leaveAfter, trust }, signal),
          operation,
        );
      };
      const exchange = await send(operation.encodeCall(params));
      // Some SDKs have another form of the parameters.
      const { code } = objectOrEmpty(exchange.documents[0]?.json.error);
      const other =
        code === JsonRpcCode.INVALID_PARAMS
          ? operation.encodeOtherCall?.(params)
          : undefined;
      return other ? send(other) : exchange;
    },
  };
}

/**
 * Reads a result, which must have the fields and names of A2A 0.3.
 */
function readRestResult(
  json: JsonValue,
  { method, decodeResult }: RestOperation,
): { readonly result: JsonValue; readonly breach?: Breach } {
  const decoded = decodeResult(json);
  const {
    json: result,
    problem,
    isUnreadable,
  } = readResultV03(method, decoded);
  if (problem === undefined) return { result };
  const reason =
    objectOrEmpty(decoded).kind === undefined
      ? `the answer must have one of the fields task, message, statusUpdate, artifactUpdate: got ${preview(json, 200)}`
      : problem;
  const endsCase = isUnreadable === true;
  return { result, breach: { requirement: "A2A03-JSON", reason, endsCase } };
}

/**
 * Reads an answer. An error may also end a stream.
 *
 * A2A 0.3 leaves the form of errors open, and a server that also supports 1.0
 * may use that form.
 */
function readExchange(answer: HttpAnswer, operation: RestOperation): Exchange {
  const { status } = answer;
  if (REFUSED_STATUSES.has(status)) {
    return { ...answer, documents: asObjects(answer), breaches: [] };
  }
  const breaches: Breach[] =
    status < 400 ? contentBreaches(answer, "A2A03-CONTENT-TYPE") : [];
  const documents = answer.documents.map(({ id, json }): AnswerDocument => {
    const { message, details } = objectOrEmpty(objectOrEmpty(json).error);
    const row = findNamedRow(listOrEmpty(details));
    if (row) {
      return {
        id,
        json: errorDocument(row.code, String(message ?? ""), details),
      };
    }
    const error = errorFromRest(json, status);
    if (error) {
      const data = error.data && toJson(ValueSchema, error.data);
      return { id, json: errorDocument(error.code, error.message, data) };
    }
    if (status < 400) {
      const { breach, result } = readRestResult(json, operation);
      if (breach) breaches.push(breach);
      return { id, json: resultDocument(result) };
    }
    const problem = `HTTP ${status}: ${JSON.stringify(json).slice(0, 200)}`;
    return {
      id,
      json: errorDocument(JsonRpcCode.INTERNAL_ERROR, problem, undefined),
    };
  });
  return {
    ...answer,
    status: status >= 400 && documents.length > 0 ? 200 : status,
    documents,
    breaches,
  };
}
