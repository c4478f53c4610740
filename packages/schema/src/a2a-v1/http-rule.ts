import { type DescMethod, getOption } from "@bufbuild/protobuf";
import { http as httpRule } from "../gen/google/api/annotations_pb.ts";

/** An HTTP binding of a method, from its `google.api.http` annotation. */
export interface HttpBinding {
  readonly httpMethod: string;
  /** Template of the path, as annotated. */
  readonly template: string;
  /**
   * Content of the body: `*` for the whole request, the name of a field, or
   * empty for none.
   */
  readonly body: string;
  /** Names of the variables in the path, in order. */
  readonly variables: readonly string[];
  /**
   * Returns the variables of a path that matches the template, by name.
   * Undefined if it does not match.
   */
  match(path: string): ReadonlyMap<string, string> | undefined;
  /** Returns the path with a value for each variable. */
  fill(value: (variable: string) => string): string;
}

/**
 * Lists the HTTP bindings of a method. Streams with GET get a binding with POST
 * too, because clients use it.
 */
export function httpBindingsOf(method: DescMethod): HttpBinding[] {
  const rule = getOption(method, httpRule);
  return [rule, ...rule.additionalBindings].flatMap(({ pattern, body }) => {
    if (pattern.case === undefined) return [];
    const isCustom = pattern.case === "custom";
    const httpMethod = isCustom
      ? pattern.value.kind
      : pattern.case.toUpperCase();
    const template = isCustom ? pattern.value.path : pattern.value;
    const binding: HttpBinding = {
      httpMethod,
      template,
      body,
      ...compileTemplate(template),
    };
    const isReadStream =
      method.methodKind === "server_streaming" && httpMethod === "GET";
    return isReadStream
      ? [binding, { ...binding, httpMethod: "POST" }]
      : [binding];
  });
}

/**
 * Compiles a path template.
 *
 * It supports literals, `*` for one segment, `**` for the rest, `{field}` and
 * `{field=pattern}` for a variable, and a `:verb` at the end. In a segment
 * without a verb, a colon is an ordinary character.
 */
export function compileTemplate(
  template: string,
): Pick<HttpBinding, "variables" | "match" | "fill"> {
  const names: {
    readonly field: string;
    readonly decode: (text: string) => string;
  }[] = [];
  const source = template.replace(
    PIECES,
    (piece, field: string | undefined, pattern: string | undefined) => {
      if (field === undefined) {
        return (
          WILDCARDS.get(piece) ?? piece.replace(/[$()*+.?[\\\]^{|}]/g, "\\$&")
        );
      }
      const inner = pattern ?? "*";
      names.push({
        field,
        decode:
          inner.includes("/") || inner.includes("**")
            ? decodePath
            : decodeSegment,
      });
      return `(${inner.replace(/\*\*|\*/g, (wildcard) => WILDCARDS.get(wildcard) ?? wildcard)})`;
    },
  );
  const expression = new RegExp(`^${source}$`);
  return {
    variables: names.map(({ field }) => field),
    match: (path) => {
      const match = expression.exec(path);
      return match
        ? new Map(
            names.map(({ field, decode }, index) => [
              field,
              decode(match[index + 1] ?? ""),
            ]),
          )
        : undefined;
    },
    fill: (value) =>
      template.replace(VARIABLES, (_piece, name: string) =>
        encodeURIComponent(value(name)),
      ),
  };
}

const VARIABLES = /\{([\w.]+)(?:=[^}]+)?\}/g;

const PIECES = /\{([\w.]+)(?:=([^}]+))?\}|\*\*|\*|[^{*]+/g;

const WILDCARDS: ReadonlyMap<string, string> = new Map([
  ["*", "[^/]+"],
  ["**", ".*"],
]);

/**
 * Decodes a variable of several segments. Encoded slashes stay encoded, to
 * distinguish them from separators.
 */
function decodePath(text: string): string {
  const pieces = text.split(/(%2f)/i);
  return pieces
    .map((piece, index) => (index % 2 === 1 ? piece : decodeSegment(piece)))
    .join("");
}

function decodeSegment(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
