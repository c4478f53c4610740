/**
 * Writes the JSON Schemas, the OpenAPI document and the reference from the
 * protos: `pnpm documents`.
 */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { documents, REFERENCE, referenceText } from "./documents/documents.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
rmSync(join(root, "packages/schema/documents"), {
  recursive: true,
  force: true,
});
for (const [path, text] of documents().set(REFERENCE, referenceText())) {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
}
