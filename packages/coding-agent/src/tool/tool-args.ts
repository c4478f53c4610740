import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { invalid } from "@devtool/server/agent";
import { z } from "zod";

/** The arguments of a tool: what a model reads of them, and how those of a call are read. */
export interface ToolArgs<Args> {
  /** The JSON Schema of the arguments. */
  readonly jsonSchema: JsonObject;
  /** Reads the arguments of a call; those that no tool has are left out. Throws `Code.InvalidArgument` that names the first that does not fit. */
  read(args: JsonObject): Args;
}

/** Describes the arguments of a tool, each by a schema with words for the model. */
export function toolArgs<Shape extends z.ZodRawShape>(shape: Shape): ToolArgs<z.infer<z.ZodObject<Shape>>> {
  const schema = z.object(shape);
  const jsonSchema = jsonSchemaOf(schema);
  return {
    jsonSchema,
    read: (args) => {
      const parsed = schema.safeParse(args);
      if (parsed.success) return parsed.data;
      throw misfit(args, parsed.error.issues[0]?.path ?? [], jsonSchema);
    },
  };
}

/** Without what every schema here would say alike: its dialect, and the bounds of whole numbers. */
function jsonSchemaOf(schema: z.ZodObject): JsonObject {
  const written: JsonObject = JSON.parse(
    JSON.stringify(
      z.toJSONSchema(schema, {
        io: "input",
        override: ({ jsonSchema }) => {
          if (jsonSchema.type !== "integer") return;
          delete jsonSchema.minimum;
          delete jsonSchema.maximum;
        },
      }),
    ),
  );
  const { $schema: _dialect, ...kept } = written;
  return kept;
}

/** The error for an argument, in the words of the JSON Schema that the model was given. */
function misfit(args: JsonObject, path: readonly PropertyKey[], jsonSchema: JsonObject): Error {
  const name = path.reduce<string>(
    (text, key) => (typeof key === "number" ? `${text}[${key}]` : text === "" ? String(key) : `${text}.${String(key)}`),
    "",
  );
  const value = path.reduce<JsonValue | undefined>(memberAt, args);
  const expected = path.reduce<JsonValue | undefined>(schemaAt, jsonSchema);
  const type = String(memberAt(expected, "type"));
  const choices = memberAt(expected, "enum");
  if (value === undefined) return invalid(name, "", "is missing", `it must be of type ${type}`);
  if (typeof value === "string" && Array.isArray(choices)) {
    return invalid(name, value, "is not one of the choices", `choose ${choices.join(", ")}`);
  }
  return invalid(name, JSON.stringify(value), `must be of type ${type}`);
}

/** The schema of the elements of an array, or of a member of an object. */
function schemaAt(schema: JsonValue | undefined, key: PropertyKey): JsonValue | undefined {
  return typeof key === "number" ? memberAt(schema, "items") : memberAt(memberAt(schema, "properties"), key);
}

function memberAt(value: JsonValue | undefined, key: PropertyKey): JsonValue | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  if (Array.isArray(value)) return value[Number(key)];
  return Object.hasOwn(value, key) ? value[String(key)] : undefined;
}
