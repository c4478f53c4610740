import type { DescMethod, JsonObject } from "@bufbuild/protobuf";
import { EXTENSION_URI } from "@devtool/schema";
import { A2AService, httpCallOf } from "@devtool/schema/a2a-v1";
import { fieldsOf } from "../json-fields.ts";
import { jsonBreaches } from "./a2a-json.ts";
import {
  type Answered,
  type Binding,
  type Breach,
  type Endpoint,
  type Exchange,
  errorDocument,
  resultDocument,
} from "./binding.ts";
import { detailBreaches, rowOf } from "./error-details.ts";
import { type HttpAnswer, headersOf, objectsIn, sendHttp } from "./http.ts";

/** The HTTP+JSON binding of A2A 1.0: its methods are called as the annotations of its proto say. */
export function restBinding({ url, token, trust }: Endpoint): Binding {
  return {
    name: "HTTP+JSON",
    protocolVersion: "1.0",
    endpoint: url,
    has: (method) => METHODS.has(method),
    async play({ method: name, params = {}, headers, leaveAfter }, recording, signal) {
      const method = METHODS.get(name);
      if (!method) throw new Error(`${name} is no method of A2A 1.0: HTTP+JSON has no path for it`);
      const call = httpCallOf(method, params);
      const accept = method.methodKind === "unary" ? "application/json" : "text/event-stream";
      const content = call.body !== undefined && { "content-type": "application/json" };
      const request = {
        method: call.httpMethod,
        url: `${url.replace(/\/+$/, "")}${call.path}`,
        headers: headersOf({ ...USUAL, ...content, accept }, { token, changes: headers }),
        body: call.body === undefined ? undefined : JSON.stringify(call.body),
      };
      return exchangeOf(await sendHttp(request, { recording, leaveAfter, trust }, signal), method);
    },
  };
}

const METHODS: ReadonlyMap<string, DescMethod> = new Map(A2AService.methods.map((method) => [method.name, method]));

const USUAL = { "a2a-version": "1.0", "a2a-extensions": EXTENSION_URI } as const;

/** Who is not let in may be told so by something before the agent, so there the form of the body is not looked at. */
function exchangeOf(answer: HttpAnswer, method: DescMethod): Exchange {
  const { status } = answer;
  const isError = status >= 400;
  const objects = objectsIn(answer);
  if (status === 401 || status === 403 || status === 413) return { ...answer, documents: objects, breaches: [] };
  const documents = objects.map(({ id, json }): Answered => ({ id, json: documentOf(json, status) }));
  const results = documents.flatMap(({ json }) => json.result ?? []);
  const breaches = [
    ...documents.flatMap(({ json }) => detailBreaches(json)),
    ...statusBreaches(objects, status),
    ...results.flatMap((result) => jsonBreaches(method, result)),
  ];
  const empty = documents.length === 0 ? [{ id: undefined, json: resultDocument({}) }] : documents;
  return { ...answer, status: isError && documents.length > 0 ? 200 : status, documents: empty, breaches };
}

/** A body in the form of AIP-193 is an error, also in the middle of a stream; anything else is a result. */
function documentOf(json: JsonObject, status: number): JsonObject {
  if (json.error === undefined && status < 400) return resultDocument(json);
  const { code, message, details } = fieldsOf(json.error);
  const list = Array.isArray(details) ? details : [];
  const row = rowOf(list, { status: status >= 400 ? status : Number(code) });
  return errorDocument(row?.code ?? -32603, String(message ?? ""), list);
}

/** The status of HTTP, the code in the body and the name of the status go together. */
function statusBreaches(documents: readonly Answered[], status: number): Breach[] {
  return documents.flatMap(({ json }) => {
    if (status < 400) return [];
    const { code, status: name, details } = fieldsOf(json.error);
    const row = rowOf(Array.isArray(details) ? details : [], { status });
    const isNamed = code === status && typeof name === "string";
    const wanted = `{"error":{"code":${status},"status":"…","message":"…","details":[…]}}`;
    const form = !isNamed && `the body must be ${wanted}: got ${JSON.stringify(json).slice(0, 300)}`;
    const wrong =
      row &&
      !row.statuses.includes(status) &&
      `${row.reason} must have the HTTP status ${row.statuses.join(" or ")}: got ${status}`;
    const reason = form || wrong;
    return reason ? [{ requirement: "A2A1-HTTP-STATUS", reason }] : [];
  });
}
