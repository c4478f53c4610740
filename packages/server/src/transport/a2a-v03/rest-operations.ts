import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { REST_OPERATIONS, type RestContent } from "@devtool/schema/a2a-v03";
import { quoted } from "../../errors.ts";
import { NoOperation } from "./errors.ts";

/** A request of the HTTP+JSON binding, as far as it says what is asked. */
export interface RestRequest extends RestContent {
  readonly verb: string;
  /** The path behind `/v1/`, still encoded. */
  readonly path: string;
}

/** What a request asks: a method of JSON-RPC, and how its answer is written. */
export interface RequestedMethod {
  readonly method: string;
  readonly params: JsonObject;
  write(result: JsonValue): JsonValue;
}

/** Finds what a request asks. Throws a `NoOperation` when A2A 0.3 does not have the path or its verb. */
export function operationOf(request: RestRequest): RequestedMethod {
  const here = REST_OPERATIONS.flatMap((operation) => {
    const ids = operation.match(request.path);
    return ids ? [{ operation, ids }] : [];
  });
  const found = here.find(({ operation }) => operation.httpMethods.includes(request.verb));
  if (!found) {
    const verbs = here.flatMap(({ operation }) => operation.httpMethods);
    throw noOperation(request, verbs);
  }
  const { operation, ids } = found;
  return { method: operation.method, params: operation.decodeParams(ids, request), write: operation.encodeResult };
}

function noOperation({ verb, path }: RestRequest, verbs: readonly string[]): NoOperation {
  const where = quoted(`/v1/${path}`);
  if (verbs.length === 0)
    return new NoOperation(`path ${where} does not exist in A2A 0.3: see its section 3.5.3`, verbs);
  return new NoOperation(`${verb} ${where} does not exist: use ${verbs.join(" or ")}`, verbs);
}
