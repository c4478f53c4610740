import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { stringOrEmpty } from "@devtool/internal/json";
import { missing, quote, WireError } from "../../wire-error.ts";

/** The content of a request besides its path. */
export interface RestContent {
  /** Parameters of the query. */
  readonly query: ReadonlyMap<string, string>;
  /** The body as JSON. Empty if there is none. */
  readonly body: JsonObject;
}

/** A request as a client sends it. */
export interface RestCall {
  readonly httpMethod: string;
  /**
   * Path below the URL of the interface, starting with `/v1/`, including the
   * query.
   */
  readonly path: string;
  /** The body as JSON. Undefined if there is none. */
  readonly body: JsonObject | undefined;
}

/**
 * A method of A2A 0.3 in its HTTP+JSON binding (section 3.5.3).
 *
 * The wire format is the ProtoJSON of the package `a2a.v1`. It differs from the
 * JSON of the JSON-RPC binding in names and in how it marks variants. An
 * operation converts between the two: JSON-RPC's form on the inside, ProtoJSON
 * on the wire. It writes ProtoJSON, and reads both.
 */
export interface RestOperation {
  /** Name of the method in JSON-RPC. */
  readonly method: string;
  /** HTTP methods of the operation. Clients use the first. */
  readonly httpMethods: readonly string[];
  /**
   * Path below `/v1/` with placeholders for ids, such as `tasks/{id}:cancel`.
   */
  readonly path: string;
  /**
   * Returns the still encoded parameters of a path below `/v1/`. Undefined if
   * the path is not of this operation.
   */
  match(path: string): Readonly<Record<string, string>> | undefined;
  /**
   * Reads the parameters. Throws a `WireError` for an id that is not
   * percent-encoded correctly.
   */
  decodeParams(
    ids: Readonly<Record<string, string>>,
    content: RestContent,
  ): JsonObject;
  /**
   * Writes the request. Throws a `WireError` if an id of the path is missing.
   */
  encodeCall(params: JsonObject): RestCall;
  /**
   * Writes the request in an alternative form or with another HTTP method, for
   * servers that do not support the first. Undefined if there is no
   * alternative.
   */
  readonly encodeOtherCall: ((params: JsonObject) => RestCall) | undefined;
  /** Writes the result, or a frame of the stream. */
  encodeResult(result: JsonValue): JsonValue;
  /** Reads the result, or a frame of the stream. */
  decodeResult(json: JsonValue): JsonValue;
}

/** Conversion of the parameters of an operation between the two forms. */
export interface ParamsForm {
  /** Reads the parameters, given those that the path has. */
  decode(ids: JsonObject, content: RestContent): JsonObject;
  /** Writes the query, from its `?` on. Default: there is none. */
  query?(params: JsonObject): string;
  /** Writes the body. Default: there is none. */
  body?(params: JsonObject): JsonObject;
  /** Writes the body for servers that do not support the first form. */
  otherBody?(params: JsonObject): JsonObject;
}

/** Conversion of the results of an operation between the two forms. */
export interface ResultForm {
  encode(result: JsonValue): JsonValue;
  decode(json: JsonValue): JsonValue;
}

/**
 * The definition of an operation: its method, its HTTP methods, its path with
 * placeholders for parameters, and the forms of its parameters and its result.
 */
export type OperationOutline = readonly [
  method: string,
  http: readonly string[],
  path: string,
  params: ParamsForm,
  result: ResultForm,
];

const VARIABLES = /\{(\w+)\}/g;

/** Makes an operation of its definition. */
export function operationFrom([
  method,
  http,
  path,
  params,
  result,
]: OperationOutline): RestOperation {
  const pattern = new RegExp(`^${path.replace(VARIABLES, "(?<$1>[^/:]+)")}$`);
  const [httpMethod = "GET", otherMethod = httpMethod] = http;
  const { query, body, otherBody } = params;
  const callWith = (given: JsonObject, write: ParamsForm["body"]): RestCall => {
    const filled = path.replace(VARIABLES, (_variable, name: string) => {
      const id = stringOrEmpty(given[name]);
      if (id === "") {
        throw missing(name, "the path needs it");
      }
      return encodeURIComponent(id);
    });
    return {
      httpMethod,
      path: `/v1/${filled}${query?.(given) ?? ""}`,
      body: write?.(given),
    };
  };
  return {
    method,
    httpMethods: http,
    path,
    match: (asked) => {
      const match = pattern.exec(asked);
      return match ? { ...match.groups } : undefined;
    },
    decodeParams: (ids, content) => {
      const decoded = Object.entries(ids).map(([name, text]) => [
        name,
        decodeId(name, text),
      ]);
      return params.decode(Object.fromEntries(decoded), content);
    },
    encodeCall: (given) => callWith(given, body),
    encodeOtherCall:
      otherBody || otherMethod !== httpMethod
        ? (given: JsonObject) => ({
            ...callWith(given, otherBody ?? body),
            httpMethod: otherMethod,
          })
        : undefined,
    encodeResult: result.encode,
    decodeResult: result.decode,
  };
}

function decodeId(name: string, text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new WireError(
      name,
      quote(text),
      "is not percent-encoded correctly: encode it as part of a URL",
    );
  }
}
