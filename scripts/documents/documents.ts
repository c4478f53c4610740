import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { JsonValue } from "@bufbuild/protobuf";
import { ROOT } from "../release/manifests.ts";
import { jsonSchemas } from "./json-schema.ts";
import { openApi } from "./openapi.ts";
import { readProtos } from "./protos.ts";
import { reference } from "./reference.ts";

/** Where `pnpm documents` writes the reference, which is not kept in git. */
export const REFERENCE = "release/reference.md";

/** Where the documents of the package of protos are, from the root. */
const DIRECTORY = "packages/schema/documents";

/**
 * Returns the documents that are generated from the protos and packed with
 * them, which are not kept in git: the content of each file, by its path below
 * `packages/schema/documents`.
 */
export function documents(): Map<string, string> {
  const protos = readProtos();
  const schemas = [...jsonSchemas(protos)].map(
    ([name, schema]): [string, string] => [
      `json-schema/${name}.schema.json`,
      formatJson(schema),
    ],
  );
  return new Map([...schemas, ["openapi.json", formatJson(openApi(protos))]]);
}

/**
 * Writes the documents into the package of protos. What is there already is not
 * touched: another process may be packing it.
 */
export function writeDocuments(): void {
  for (const [path, text] of documents()) {
    const file = join(ROOT, DIRECTORY, path);
    if (existsSync(file) && readFileSync(file, "utf8") === text) continue;
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
}

/** Returns the reference: Markdown, for people. */
export function referenceText(): string {
  return reference(readProtos());
}

function formatJson(json: JsonValue): string {
  return `${JSON.stringify(json, undefined, 2)}\n`;
}
