import { type DescMethod, getOption } from "@bufbuild/protobuf";
import { http as httpRule } from "../gen/google/api/annotations_pb.ts";
import type { HttpRule } from "../gen/google/api/http_pb.ts";

/** One way in which a method is called over HTTP, as a `google.api.http` annotation says. */
export interface HttpBinding {
  readonly httpMethod: string;
  /** The template of the path, as it is written. */
  readonly template: string;
  /** What the body holds: `*` for the request as a whole, the name of one of its fields, or empty for nothing. */
  readonly body: string;
  /** The names of the variables of the path, in order. */
  readonly variables: readonly string[];
  /** The variables of a path that fits the template, by their names; undefined when it does not fit. */
  match(path: string): ReadonlyMap<string, string> | undefined;
  /** The path with a value for each variable. */
  fill(value: (variable: string) => string): string;
}

/** The ways in which a method is called over HTTP. A stream that is had by GET is given to POST too, as clients ask. */
export function httpBindingsOf(method: DescMethod): HttpBinding[] {
  const rule = getOption(method, httpRule);
  return [rule, ...rule.additionalBindings].flatMap((item) => {
    const binding = bindingOf(item);
    if (!binding) return [];
    const isReadStream = method.methodKind === "server_streaming" && binding.httpMethod === "GET";
    return isReadStream ? [binding, { ...binding, httpMethod: "POST" }] : [binding];
  });
}

function bindingOf({ pattern, body }: HttpRule): HttpBinding | undefined {
  if (pattern.case === undefined) return undefined;
  const isCustom = pattern.case === "custom";
  const httpMethod = isCustom ? pattern.value.kind : pattern.case.toUpperCase();
  const template = isCustom ? pattern.value.path : pattern.value;
  return { httpMethod, template, body, ...compileTemplate(template) };
}

/**
 * Compiles a path template: literals, `*` for one segment, `**` for the rest, `{field}` and `{field=pattern}` for what
 * goes into a field, and a `:verb` at the end. A segment without a verb takes a colon as any other character.
 */
export function compileTemplate(template: string): Pick<HttpBinding, "variables" | "match" | "fill"> {
  const names: { readonly field: string; readonly decode: (text: string) => string }[] = [];
  const source = template.replace(PIECES, (piece, field: string | undefined, pattern: string | undefined) => {
    if (field === undefined) return WILDCARDS.get(piece) ?? piece.replace(/[$()*+.?[\\\]^{|}]/g, "\\$&");
    const inner = pattern ?? "*";
    names.push({ field, decode: inner.includes("/") || inner.includes("**") ? decodedPath : decodedSegment });
    return `(${inner.replace(/\*\*|\*/g, (wildcard) => WILDCARDS.get(wildcard) ?? wildcard)})`;
  });
  const expression = new RegExp(`^${source}$`);
  return {
    variables: names.map(({ field }) => field),
    match: (path) => {
      const match = expression.exec(path);
      return match
        ? new Map(names.map(({ field, decode }, index) => [field, decode(match[index + 1] ?? "")]))
        : undefined;
    },
    fill: (value) => template.replace(VARIABLES, (_piece, name: string) => encodeURIComponent(value(name))),
  };
}

const VARIABLES = /\{([\w.]+)(?:=[^}]+)?\}/g;

const PIECES = /\{([\w.]+)(?:=([^}]+))?\}|\*\*|\*|[^{*]+/g;

const WILDCARDS: ReadonlyMap<string, string> = new Map([
  ["*", "[^/]+"],
  ["**", ".*"],
]);

/** A variable of several segments keeps its encoded slashes apart from those between segments. */
function decodedPath(text: string): string {
  const pieces = text.split(/(%2f)/i);
  return pieces.map((piece, index) => (index % 2 === 1 ? piece : decodedSegment(piece))).join("");
}

function decodedSegment(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
