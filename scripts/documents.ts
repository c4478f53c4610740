/**
 * Writes the JSON Schemas, the OpenAPI document and the reference from the
 * protos: `pnpm documents`.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import {
  REFERENCE,
  referenceText,
  writeDocuments,
} from "./documents/documents.ts";
import { ROOT } from "./release/manifests.ts";

writeDocuments();
mkdirSync(dirname(join(ROOT, REFERENCE)), { recursive: true });
writeFileSync(join(ROOT, REFERENCE), referenceText());
