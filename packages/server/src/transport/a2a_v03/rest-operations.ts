import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { JsonRpcCode, REST_OPERATIONS, type RestContent } from "@devtool/schema/a2a-v03";
import { JsonRpcFailure } from "./errors.ts";

/** A request of the HTTP+JSON binding, as far as it says what is asked. */
export interface RestRequest extends RestContent {
  readonly verb: string;
  /** The path behind `/v1/`, still encoded. */
  readonly path: string;
}

/** What a request asks: a method of JSON-RPC, and how its answer is written. */
export interface Operation {
  readonly method: string;
  readonly params: JsonObject;
  write(result: JsonValue): JsonValue;
}

/** Finds what a request asks. Throws a `NoOperation` when the path or its verb is none of A2A 0.3. */
export function operationOf(request: RestRequest): Operation {
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

/** There is nothing at a path, or nothing that is done with this verb. */
export class NoOperation extends JsonRpcFailure {
  constructor(
    message: string,
    /** The verbs that there are; empty when nothing is at the path. */
    readonly verbs: readonly string[],
  ) {
    super(message, JsonRpcCode.METHOD_NOT_FOUND);
  }
}

function noOperation({ verb, path }: RestRequest, verbs: readonly string[]): NoOperation {
  const where = JSON.stringify(`/v1/${path}`);
  if (verbs.length === 0) return new NoOperation(`path ${where} is none of A2A 0.3: see its section 3.5.3`, verbs);
  return new NoOperation(`${verb} ${where} does not exist: use ${verbs.join(" or ")}`, verbs);
}
