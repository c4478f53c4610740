import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { plainJson } from "@devtool/internal/json";
import { invalid } from "@devtool/server/agent";
import { z } from "zod";

/**
 * The arguments of a tool: their schema for the model, and their validation.
 */
export interface ToolArgs<Args> {
  /** The JSON Schema of the arguments. */
  readonly jsonSchema: JsonObject;
  /**
   * Validates the arguments of a call and returns them typed. Removes unknown
   * arguments.
   *
   * Throws `Code.InvalidArgument` for the first invalid argument.
   */
  read(args: JsonObject): Args;
}

/**
 * Creates the arguments of a tool from one zod schema per argument. Their
 * descriptions are for the model.
 */
export function toolArgs<Shape extends z.ZodRawShape>(
  shape: Shape,
): ToolArgs<z.infer<z.ZodObject<Shape>>> {
  const schema = z.object(shape);
  // What zod writes for every schema is left out: the dialect, and the bounds
  // of safe integers.
  const { $schema: _dialect, ...jsonSchema } = plainJson(
    z.toJSONSchema(schema, {
      io: "input",
      override: ({ jsonSchema: part }) => {
        if (part.type !== "integer") return;
        delete part.minimum;
        delete part.maximum;
      },
    }),
  );
  return {
    jsonSchema,
    read: (args) => {
      const parsed = schema.safeParse(args);
      if (parsed.success) return parsed.data;
      // Null for an argument that may be left out is none.
      const sparse: unknown = JSON.parse(
        JSON.stringify(args),
        (_name, value) => value ?? undefined,
      );
      const withoutNulls = schema.safeParse(sparse);
      if (withoutNulls.success) return withoutNulls.data;
      throw invalidArgument(
        args,
        parsed.error.issues[0]?.path ?? [],
        jsonSchema,
      );
    },
  };
}

/**
 * Creates the error for an argument in the terms of the JSON Schema that the
 * model knows.
 */
function invalidArgument(
  args: JsonObject,
  path: readonly PropertyKey[],
  jsonSchema: JsonObject,
): Error {
  let name = "";
  let value: JsonValue | undefined = args;
  let expected: JsonValue | undefined = jsonSchema;
  for (const key of path) {
    const isIndex = typeof key === "number";
    name += isIndex ? `[${key}]` : `${name === "" ? "" : "."}${String(key)}`;
    value = memberOf(value, key);
    expected = isIndex
      ? memberOf(expected, "items")
      : memberOf(memberOf(expected, "properties"), key);
  }
  const type = String(memberOf(expected, "type"));
  const choices = memberOf(expected, "enum");
  if (value === undefined) {
    return invalid(name, "", "is missing", `it must be of type ${type}`);
  }
  if (typeof value === "string" && Array.isArray(choices)) {
    return invalid(
      name,
      value,
      "is not one of the choices",
      `choose ${choices.join(", ")}`,
    );
  }
  return invalid(name, JSON.stringify(value), `must be of type ${type}`);
}

/**
 * Returns an element of a list or a field of an object. Undefined when there is
 * none.
 */
function memberOf(
  value: JsonValue | undefined,
  key: PropertyKey,
): JsonValue | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  if (Array.isArray(value)) return value[Number(key)];
  return Object.hasOwn(value, key) ? value[String(key)] : undefined;
}
