import type { JsonObject } from "@bufbuild/protobuf";
import { defined } from "@devtool/internal/json";
import { EXTENSION_URI } from "@devtool/schema";
import { preview } from "../match/match.ts";
import { A2A_METHODS, jsonRequirement, readResult } from "./a2a-json.ts";
import { readResultV03 } from "./a2a-json-v03.ts";
import {
  type Binding,
  type Breach,
  type Endpoint,
  type ProtocolVersion,
  REFUSED_STATUSES,
} from "./binding.ts";
import { detailBreaches } from "./error-details.ts";
import {
  acceptedType,
  asObjects,
  contentBreaches,
  requestHeaders,
  sendHttp,
} from "./http.ts";

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
      // A server refuses bad credentials and large bodies with an HTTP status,
      // before JSON-RPC.
      const isResponse = answer.status === 200;
      const read = asObjects(answer).map(({ id, json }) => {
        const checked = isResponse
          ? readResponse(json, method, protocolVersion)
          : { json, breaches: [], warnings: [] };
        return { id, ...checked };
      });
      const content = REFUSED_STATUSES.has(answer.status)
        ? []
        : contentBreaches(answer, CONTENT_REQUIREMENT[protocolVersion]);
      return {
        ...answer,
        documents: read.map(({ id, json }) => ({ id, json })),
        breaches: [...content, ...read.flatMap(({ breaches }) => breaches)],
        warnings: read.flatMap(({ warnings }) => warnings),
      };
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

const CONTENT_REQUIREMENT: Readonly<Record<ProtocolVersion, string>> = {
  "0.3": "A2A03-CONTENT-TYPE",
  "1.0": "A2A1-CONTENT-TYPE",
};

interface ReadResponse {
  readonly json: JsonObject;
  readonly breaches: readonly Breach[];
  readonly warnings: readonly string[];
}

/**
 * Reads a document: it must be a JSON-RPC response to this request with either
 * a result or an error, in the form of its version of A2A.
 */
function readResponse(
  json: JsonObject,
  method: string,
  protocolVersion: ProtocolVersion,
): ReadResponse {
  const requirement = ENVELOPE_REQUIREMENT[protocolVersion];
  if (json.jsonrpc !== "2.0" || "result" in json === "error" in json) {
    const reason = `a JSON-RPC 2.0 response with either a result or an error is required: got ${preview(json, 200)}`;
    const breaches = [{ requirement, reason, endsCase: true }];
    return { json, breaches, warnings: [] };
  }
  const breaches: Breach[] = [];
  if (json.id !== ID) {
    breaches.push({
      requirement,
      reason: `the id of the response must be ${ID}: got ${preview(json.id, 200)}`,
    });
  }
  const isV03 = protocolVersion === "0.3";
  if (!isV03) breaches.push(...detailBreaches(json));
  const described = A2A_METHODS.get(method);
  if (json.result === undefined || (!isV03 && !described)) {
    return { json, breaches, warnings: [] };
  }
  const { problem, isUnreadable, ...read } =
    isV03 || !described
      ? readResultV03(method, json.result)
      : readResult(described, json.result);
  if (problem !== undefined) {
    const requirement = isV03 ? "A2A03-JSON" : jsonRequirement(method);
    breaches.push({
      requirement,
      reason: problem,
      endsCase: isUnreadable === true,
    });
  }
  return { ...read, json: { ...json, result: read.json }, breaches };
}
