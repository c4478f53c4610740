import type { JsonValue } from "@bufbuild/protobuf";
import { jsonSchemas } from "./json-schema.ts";
import { openApi } from "./openapi.ts";
import { readProtos } from "./protos.ts";
import { reference } from "./reference.ts";

/**
 * Returns the documents that are generated from the protos: the content of each
 * file, by its path.
 */
export function documents(): ReadonlyMap<string, string> {
  const protos = readProtos();
  const schemas = [...jsonSchemas(protos)].map(
    ([name, schema]): [string, string] => [
      `packages/schema/documents/json-schema/${name}.schema.json`,
      formatJson(schema),
    ],
  );
  return new Map([
    ...schemas,
    ["packages/schema/documents/openapi.json", formatJson(openApi(protos))],
    ["docs/reference.md", reference(protos)],
  ]);
}

function formatJson(json: JsonValue): string {
  return `${JSON.stringify(json, undefined, 2)}\n`;
}
