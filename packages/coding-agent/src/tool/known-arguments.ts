import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isObject, listOrEmpty } from "@devtool/schema/json";
import { invalid } from "@devtool/server/agent";
import type { Tool } from "./tool.ts";

/** Keywords of JSON Schema with which an object can have other fields than its `properties`. */
const MORE_FIELDS = ["patternProperties", "allOf", "anyOf", "oneOf", "if", "$ref"] as const;

/**
 * Throws `Code.InvalidArgument` for arguments of a user that the schema of the tool does not have, because a misspelled name must
 * not be ignored. The schemas of MCP servers say by themselves whether they take others, and MCP tools check that.
 */
export function assertKnownArguments({ declaration, facts }: Tool, args: JsonObject): void {
  if (facts?.mcpServer === undefined) assertKnownFields(declaration.parameters, args, "");
}

function assertKnownFields(schema: JsonValue | undefined, value: JsonValue | undefined, path: string): void {
  if (!isObject(schema)) return;
  if (Array.isArray(value)) {
    for (const [index, item] of listOrEmpty(value).entries())
      assertKnownFields(schema.items, item, `${path}[${index}]`);
    return;
  }
  const { properties, additionalProperties = false } = schema;
  if (!isObject(value) || !isObject(properties)) return;
  const isOpen = additionalProperties !== false || MORE_FIELDS.some((keyword) => keyword in schema);
  for (const [name, item] of Object.entries(value)) {
    const field = path === "" ? name : `${path}.${name}`;
    if (Object.hasOwn(properties, name)) assertKnownFields(properties[name], item, field);
    else if (!isOpen) throw invalid(field, "", "is unknown", `choose ${Object.keys(properties).join(", ")}`);
  }
}
