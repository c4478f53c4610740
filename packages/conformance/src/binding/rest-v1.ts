import type { DescMethod, JsonObject } from "@bufbuild/protobuf";
import {
  defined,
  isObject,
  listOrEmpty,
  objectOrEmpty,
} from "@devtool/internal/json";
import { EXTENSION_URI } from "@devtool/schema";
import { httpCallOf } from "@devtool/schema/a2a-v1";
import { preview } from "../match/match.ts";
import { A2A_METHODS, jsonRequirement, readResult } from "./a2a-json.ts";
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
  contentBreaches,
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
  const isStream = answer.isWholeStream || answer.open !== undefined;
  const breaches = [
    ...contentBreaches(answer, "A2A1-CONTENT-TYPE"),
    ...(isStream
      ? []
      : objects.flatMap(({ json }) => statusBreaches(json, status))),
  ];
  if (documents.length === 0) {
    const empty = { id: undefined, json: resultDocument({}) };
    return { ...answer, documents: [empty], breaches };
  }
  const isReadable = breaches.every(({ endsCase }) => !endsCase);
  const read = documents.map(({ id, json }) => {
    if (isReadable) breaches.push(...detailBreaches(json));
    if (json.result === undefined) return { id, json, warnings: [] };
    const result = readResult(method, json.result);
    return { ...result, id, json: resultDocument(result.json) };
  });
  const requirement = jsonRequirement(method.name);
  for (const { problem: reason, isUnreadable } of read) {
    if (reason === undefined) continue;
    breaches.push({ requirement, reason, endsCase: isUnreadable === true });
  }
  return {
    ...answer,
    status: status >= 400 ? 200 : status,
    documents: read.map(({ id, json }) => ({ id, json })),
    breaches,
    warnings: read.flatMap(({ warnings }) => warnings),
  };
}

/**
 * Checks that the HTTP status, the code in the body and the name of the error
 * match.
 */
function statusBreaches(json: JsonObject, status: number): Breach[] {
  if (status < 400) {
    if (json.error === undefined) return [];
    const reason = `an error must have an HTTP status of 400 or more: got ${status} with ${preview(json, 200)}`;
    return [{ requirement: "A2A1-HTTP-STATUS", reason }];
  }
  const { code, status: name, details } = objectOrEmpty(json.error);
  const row = findErrorRow(listOrEmpty(details), { status });
  let reason: string | undefined;
  if (row && !row.statuses.includes(status)) {
    reason = `${row.reason} must have the HTTP status ${row.statuses.join(" or ")}: got ${status}`;
  } else if (code !== status || typeof name !== "string") {
    const wanted = `{"error":{"code":${status},"status":"…","message":"…","details":[…]}}`;
    reason = `the body must be ${wanted}: got ${preview(json)}`;
  }
  const endsCase = !isObject(json.error);
  return reason === undefined
    ? []
    : [{ requirement: "A2A1-HTTP-STATUS", reason, endsCase }];
}
