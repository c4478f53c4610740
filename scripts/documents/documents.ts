import type { JsonValue } from "@bufbuild/protobuf";
import { jsonSchemas } from "./json-schema.ts";
import { openApi } from "./openapi.ts";
import { readProtos } from "./protos.ts";
import { reference } from "./reference.ts";

/** Where `pnpm documents` writes the reference, which is not kept in git. */
export const REFERENCE = "release/reference.md";

/**
 * Returns the documents that are generated from the protos and kept in git: the
 * content of each file, by its path.
 */
export function documents(): Map<string, string> {
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
  ]);
}

/** Returns the reference: Markdown, for people. */
export function referenceText(): string {
  return reference(readProtos());
}

function formatJson(json: JsonValue): string {
  return `${JSON.stringify(json, undefined, 2)}\n`;
}
