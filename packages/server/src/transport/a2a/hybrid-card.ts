import type { JsonObject, JsonValue } from "@bufbuild/protobuf";

/** Both forms in one: where both have a name for different things, an object with what each reader looks for. */
export function hybridOf(v03: JsonObject, v1: JsonObject): JsonObject {
  return {
    ...v1,
    ...v03,
    capabilities: joined(v1.capabilities, v03.capabilities),
    securitySchemes: joinedSchemes(v1.securitySchemes, v03.securitySchemes),
  };
}

function joined(one: JsonValue | undefined, other: JsonValue | undefined): JsonObject {
  return { ...objectOf(one), ...objectOf(other) };
}

/** The security schemes of both forms, each of them readable as either. */
export function joinedSchemes(one: JsonValue | undefined, other: JsonValue | undefined): JsonObject {
  const entries = Object.entries(objectOf(other)).map(([name, value]): [string, JsonValue] => [
    name,
    joined(objectOf(one)[name], value),
  ]);
  return { ...objectOf(one), ...Object.fromEntries(entries) };
}

function objectOf(value: JsonValue | undefined): JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value : {};
}
