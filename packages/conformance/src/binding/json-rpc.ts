import type { JsonObject } from "@bufbuild/protobuf";
import { defined } from "@devtool/internal/json";
import { EXTENSION_URI } from "@devtool/schema";
import { preview } from "../match/match.ts";
import { A2A_METHODS, resultBreaches } from "./a2a-json.ts";
import type { Binding, Breach, Endpoint, ProtocolVersion } from "./binding.ts";
import { detailBreaches } from "./error-details.ts";
import { acceptedType, asObjects, requestHeaders, sendHttp } from "./http.ts";

const ID = 1;

/**
 * The JSON-RPC binding of A2A 0.3 or 1.0.
 */
export function jsonRpcBinding(
  protocolVersion: ProtocolVersion,
  { url, token, trust }: Endpoint,
): Binding {
  return {
    name: "JSONRPC",
    protocolVersion,
    endpoint: url,
    has: () => true,
    async play({ method, params, headers, leaveAfter }, recording, signal) {
      const usual = {
        accept: acceptedType(method),
        ...USUAL_HEADERS[protocolVersion],
      };
      const request = {
        method: "POST",
        url,
        headers: requestHeaders(usual, token, headers),
        body: JSON.stringify(
          defined({ jsonrpc: "2.0", id: ID, method, params }),
        ),
      };
      const answer = await sendHttp(
        request,
        { recording, leaveAfter, trust },
        signal,
      );
      const documents = asObjects(answer);
      // A server refuses bad credentials and large bodies with an HTTP status,
      // before JSON-RPC.
      const responses = answer.status === 200 ? documents : [];
      const breaches = responses.flatMap(({ json }) =>
        responseBreaches(json, method, protocolVersion),
      );
      return { ...answer, documents, breaches };
    },
  };
}

const USUAL_HEADERS: Readonly<
  Record<ProtocolVersion, Readonly<Record<string, string>>>
> = {
  "0.3": {
    "content-type": "application/json",
    "x-a2a-extensions": EXTENSION_URI,
  },
  "1.0": {
    "content-type": "application/json",
    "a2a-extensions": EXTENSION_URI,
    "a2a-version": "1.0",
  },
};

const ENVELOPE_REQUIREMENT: Readonly<Record<ProtocolVersion, string>> = {
  "0.3": "A2A03-JSONRPC",
  "1.0": "A2A1-JSONRPC",
};

/**
 * Checks a document: it must be a JSON-RPC response to this request with either
 * a result or an error. In A2A 1.0, the form of the result and of the error
 * details is checked too.
 */
function responseBreaches(
  json: JsonObject,
  method: string,
  protocolVersion: ProtocolVersion,
): Breach[] {
  const breaches: Breach[] = [];
  const requirement = ENVELOPE_REQUIREMENT[protocolVersion];
  if (json.jsonrpc !== "2.0" || "result" in json === "error" in json) {
    const reason = `a JSON-RPC 2.0 response with either a result or an error is required: got ${preview(json, 200)}`;
    breaches.push({ requirement, reason });
  } else if (json.id !== ID) {
    breaches.push({
      requirement,
      reason: `the id of the response must be ${ID}: got ${preview(json.id, 200)}`,
    });
  }
  if (protocolVersion === "0.3") return breaches;
  breaches.push(...detailBreaches(json));
  const described = A2A_METHODS.get(method);
  if (described && json.result !== undefined) {
    breaches.push(...resultBreaches(described, json.result));
  }
  return breaches;
}
