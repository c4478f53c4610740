import type { DescMethod, JsonObject } from "@bufbuild/protobuf";
import { defined, listOrEmpty, objectOrEmpty } from "@devtool/internal/json";
import { EXTENSION_URI } from "@devtool/schema";
import { httpCallOf } from "@devtool/schema/a2a-v1";
import { preview } from "../match/match.ts";
import { A2A_METHODS, resultBreaches } from "./a2a-json.ts";
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
import { detailBreaches, findErrorRow } from "./error-details.ts";
import {
  asObjects,
  type HttpAnswer,
  requestHeaders,
  sendHttp,
} from "./http.ts";

/**
 * The HTTP+JSON binding of A2A 1.0. The annotations of the proto give verb and
 * path of each method.
 */
export function restBinding({ url, token, trust }: Endpoint): Binding {
  return {
    name: "HTTP+JSON",
    protocolVersion: "1.0",
    endpoint: url,
    has: (method) => A2A_METHODS.has(method),
    async play(
      { method: name, params = {}, headers, leaveAfter },
      recording,
      signal,
    ) {
      const method = A2A_METHODS.get(name);
      if (!method) {
        throw new Error(
          `${name} is not a method of A2A 1.0: HTTP+JSON has no path for it`,
        );
      }
      const { httpMethod, path, body } = httpCallOf(method, params);
      const usual = defined({
        "a2a-version": "1.0",
        "a2a-extensions": EXTENSION_URI,
        accept:
          method.methodKind === "unary"
            ? "application/json"
            : "text/event-stream",
        "content-type": body === undefined ? undefined : "application/json",
      });
      const request = {
        method: httpMethod,
        url: `${url.replace(/\/+$/, "")}${path}`,
        headers: requestHeaders(usual, token, headers),
        body: body === undefined ? undefined : JSON.stringify(body),
      };
      return readExchange(
        await sendHttp(request, { recording, leaveAfter, trust }, signal),
        method,
      );
    },
  };
}

function readExchange(answer: HttpAnswer, method: DescMethod): Exchange {
  const { status } = answer;
  const objects = asObjects(answer);
  if (REFUSED_STATUSES.has(status)) {
    return { ...answer, documents: objects, breaches: [] };
  }
  const documents = objects.map(({ id, json }): AnswerDocument => {
    // A body in the form of AIP-193 is an error, which may also end a stream.
    // Anything else is a result.
    if (json.error === undefined && status < 400) {
      return { id, json: resultDocument(json) };
    }
    const { code, message, details } = objectOrEmpty(json.error);
    const row = findErrorRow(listOrEmpty(details), {
      status: status >= 400 ? status : Number(code),
    });
    return {
      id,
      json: errorDocument(
        row?.code ?? -32603,
        String(message ?? ""),
        listOrEmpty(details),
      ),
    };
  });
  const breaches = [
    ...documents.flatMap(({ json }) => detailBreaches(json)),
    ...objects.flatMap(({ json }) => statusBreaches(json, status)),
    ...documents.flatMap(({ json }) =>
      json.result === undefined ? [] : resultBreaches(method, json.result),
    ),
  ];
  if (documents.length === 0) {
    return {
      ...answer,
      documents: [{ id: undefined, json: resultDocument({}) }],
      breaches,
    };
  }
  return {
    ...answer,
    status: status >= 400 ? 200 : status,
    documents,
    breaches,
  };
}

/**
 * Checks that the HTTP status, the code in the body and the name of the error
 * match.
 */
function statusBreaches(json: JsonObject, status: number): Breach[] {
  if (status < 400) return [];
  const { code, status: name, details } = objectOrEmpty(json.error);
  const row = findErrorRow(listOrEmpty(details), { status });
  let reason: string | undefined;
  if (code !== status || typeof name !== "string") {
    const wanted = `{"error":{"code":${status},"status":"…","message":"…","details":[…]}}`;
    reason = `the body must be ${wanted}: got ${preview(json)}`;
  } else if (row && !row.statuses.includes(status)) {
    reason = `${row.reason} must have the HTTP status ${row.statuses.join(" or ")}: got ${status}`;
  }
  return reason === undefined
    ? []
    : [{ requirement: "A2A1-HTTP-STATUS", reason }];
}
