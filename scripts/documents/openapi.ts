import {
  type DescMessage,
  type DescMethod,
  type FileRegistry,
  getOption,
  type JsonObject,
} from "@bufbuild/protobuf";
import { isObject } from "@devtool/internal/json";
import { fieldBehavior, httpRule } from "@devtool/schema/a2a-v1";
import { messageSchema, reachable } from "./json-schema.ts";
import { commentOf } from "./protos.ts";

/**
 * Describes the HTTP+JSON binding of A2A 1.0 in OpenAPI 3.1, from the
 * annotations of the service.
 */
export function openApi(protos: FileRegistry): JsonObject {
  const service = protos.getService("lf.a2a.v1.A2AService");
  if (!service) {
    throw new Error("the service of A2A 1.0 is not among the protos");
  }
  const operations = service.methods.map(operationOf);
  const paths = Map.groupBy(operations, ({ path }) => path);
  const messages = reachable(
    service.methods.flatMap(({ input, output }) => [input, output]),
  );
  const own = messages.filter(
    ({ typeName }) => !typeName.startsWith("google.protobuf."),
  );
  return {
    openapi: "3.1.1",
    info: {
      title: "A2A 1.0 over HTTP+JSON",
      version: "1.0",
      description: commentOf(service),
      license: LICENSE,
    },
    servers: [
      {
        url: "http://127.0.0.1:41242",
        description: "The address that `devtool serve` binds by default.",
      },
    ],
    security: [{ bearer: [] }],
    paths: Object.fromEntries(
      [...paths].map(([path, entries]) => [
        path,
        Object.fromEntries(entries.map(({ verb, item }) => [verb, item])),
      ]),
    ),
    components: {
      securitySchemes: { bearer: { type: "http", scheme: "bearer" } },
      responses: {
        Error: {
          description: "The error.",
          content: { "application/json": { schema: STATUS } },
        },
      },
      schemas: Object.fromEntries(
        own.map((message) => [message.name, componentOf(message)]),
      ),
    },
  };
}

const LICENSE: JsonObject = { name: "Apache-2.0", identifier: "Apache-2.0" };

/** Error responses: `google.rpc.Status` in ProtoJSON, in the field `error`. */
const STATUS: JsonObject = {
  type: "object",
  required: ["error"],
  properties: {
    error: {
      type: "object",
      properties: {
        code: { type: "integer" },
        status: { type: "string" },
        message: { type: "string" },
        details: { type: "array", items: { type: "object" } },
      },
    },
  },
};

interface Operation {
  readonly path: string;
  readonly verb: string;
  readonly item: JsonObject;
}

/**
 * Describes a method by its first binding. The others only add a tenant to the
 * path.
 */
function operationOf(method: DescMethod): Operation {
  const { pattern, body } = getOption(method, httpRule);
  if (pattern.case === undefined || pattern.case === "custom") {
    throw new Error(`${method} has no route`);
  }
  const names = [...pattern.value.matchAll(/\{(\w+)(?:=[^}]*)?\}/g)].map(
    ([, name = ""]) => name,
  );
  const item = {
    operationId: method.localName,
    description: commentOf(method),
    parameters: parametersOf(method.input, { names, hasBody: body !== "" }),
    ...(body !== "" && {
      requestBody: {
        required: true,
        content: { "application/json": bodyOf(method.input, names) },
      },
    }),
    responses: {
      "200": responseOf(method),
      default: { $ref: "#/components/responses/Error" },
    },
  };
  return {
    path: pattern.value.replaceAll(/\{(\w+)=[^}]*\}/g, "{$1}"),
    verb: pattern.case,
    item,
  };
}

/**
 * The parameters of the path and, if there is no body, of the query: all other
 * fields.
 */
function parametersOf(
  input: DescMessage,
  {
    names,
    hasBody,
  }: { readonly names: readonly string[]; readonly hasBody: boolean },
): JsonObject[] {
  const properties = messageSchema(input, refer).properties;
  return input.fields.flatMap(({ name, jsonName }) => {
    const schema = isObject(properties) ? properties[jsonName] : undefined;
    if (names.includes(name)) {
      return [{ name, in: "path", required: true, schema: schema ?? {} }];
    }
    return hasBody || name === "tenant"
      ? []
      : [{ name: jsonName, in: "query", schema: schema ?? {} }];
  });
}

/**
 * The body of a request: the message without the fields that are in the path.
 */
function bodyOf(input: DescMessage, names: readonly string[]): JsonObject {
  if (names.length === 0) return contentOf(input);
  const inPath = input.fields
    .filter(({ name }) => names.includes(name))
    .map(({ jsonName }) => jsonName);
  const { properties = {}, required = [], ...schema } = componentOf(input);
  const left = Object.entries(properties ?? {}).filter(
    ([name]) => !inPath.includes(name),
  );
  const needed = Array.isArray(required)
    ? required.filter((name) => !inPath.includes(String(name)))
    : [];
  return {
    schema: {
      ...schema,
      properties: Object.fromEntries(left),
      ...(needed.length > 0 && { required: needed }),
    },
  };
}

function responseOf(method: DescMethod): JsonObject {
  const type =
    method.methodKind === "server_streaming"
      ? "text/event-stream"
      : "application/json";
  const description =
    type === "text/event-stream"
      ? "Server-sent events; the data of each event is a document of this schema."
      : "The response.";
  return { description, content: { [type]: contentOf(method.output) } };
}

function contentOf(message: DescMessage): JsonObject {
  return {
    schema: message.typeName.startsWith("google.protobuf.")
      ? { type: "object" }
      : { $ref: refer(message) },
  };
}

const REQUIRED = fieldBehavior.enum?.values.find(
  ({ name }) => name === "REQUIRED",
)?.number;

function componentOf(message: DescMessage): JsonObject {
  const required = message.fields.filter((field) =>
    getOption(field, fieldBehavior).some((behavior) => behavior === REQUIRED),
  );
  const names = required.map(({ jsonName }) => jsonName);
  return {
    ...messageSchema(message, refer),
    ...(names.length > 0 && { required: names }),
  };
}

function refer({ name }: DescMessage): string {
  return `#/components/schemas/${name}`;
}
