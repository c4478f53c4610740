import type { DescMethod, JsonObject } from "@bufbuild/protobuf";
import { EXTENSION_URI } from "@devtool/schema";
import { A2AService } from "@devtool/schema/a2a-v1";
import { jsonBreaches } from "./a2a-json.ts";
import { acceptOf } from "./accept.ts";
import type { Binding, Breach, Endpoint, ProtocolVersion } from "./binding.ts";
import { detailBreaches } from "./error-details.ts";
import { headersOf, objectsIn, sendHttp } from "./http.ts";

const ID = 1;

/** The JSON-RPC binding of A2A 0.3 or 1.0. */
export function jsonRpcBinding(protocolVersion: ProtocolVersion, { url, token, trust }: Endpoint): Binding {
  return {
    name: "JSONRPC",
    protocolVersion,
    endpoint: url,
    has: () => true,
    async play({ method, params, headers, leaveAfter }, recording, signal) {
      const usual = { accept: acceptOf(method), ...USUAL[protocolVersion] };
      const request = {
        method: "POST",
        url,
        headers: headersOf(usual, { token, changes: headers }),
        body: JSON.stringify({ jsonrpc: "2.0", id: ID, method, ...(params && { params }) }),
      };
      const answer = await sendHttp(request, { recording, leaveAfter, trust }, signal);
      // Who is not let in, or sends too much, is told so by HTTP, before there is any JSON-RPC.
      const isRpc = answer.status === 200;
      const documents = objectsIn(answer);
      const breaches = isRpc ? documents.flatMap(({ json }) => breachesOf(json, { method, protocolVersion })) : [];
      return { ...answer, documents, breaches };
    },
  };
}

const USUAL: Readonly<Record<ProtocolVersion, Readonly<Record<string, string>>>> = {
  "0.3": { "content-type": "application/json", "x-a2a-extensions": EXTENSION_URI },
  "1.0": { "content-type": "application/json", "a2a-extensions": EXTENSION_URI, "a2a-version": "1.0" },
};

/** Every document is a response of JSON-RPC to this request, with either a result or an error. */
function breachesOf(
  json: JsonObject,
  { method, protocolVersion }: { readonly method: string; readonly protocolVersion: ProtocolVersion },
): Breach[] {
  const isResponse = json.jsonrpc === "2.0" && "result" in json !== "error" in json;
  const envelope = !isResponse && `it must be a response of JSON-RPC 2.0 with a result or an error: got ${cut(json)}`;
  const wrongId = isResponse && json.id !== ID && `the id of the response must be ${ID}: got ${cut(json.id)}`;
  const reason = envelope || wrongId;
  const breach = reason ? [{ requirement: ENVELOPE[protocolVersion], reason }] : [];
  if (protocolVersion === "0.3") return breach;
  const described = METHODS.get(method);
  const { result } = json;
  const inResult = described && result !== undefined ? jsonBreaches(described, result) : [];
  return [...breach, ...detailBreaches(json), ...inResult];
}

const METHODS: ReadonlyMap<string, DescMethod> = new Map(A2AService.methods.map((method) => [method.name, method]));

const ENVELOPE: Readonly<Record<ProtocolVersion, string>> = { "0.3": "A2A03-JSONRPC", "1.0": "A2A1-JSONRPC" };

function cut(value: unknown): string {
  return (JSON.stringify(value) ?? "nothing").slice(0, 200);
}
