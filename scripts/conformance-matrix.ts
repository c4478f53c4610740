/**
 * Writes `docs/conformance.md` from the lists of what peers are known to fail
 * (`test/conformance/known-failing`).
 */
import { writeFileSync } from "node:fs";
import { conformancePage } from "../test/conformance/page.ts";

writeFileSync(
  new URL("../docs/conformance.md", import.meta.url),
  conformancePage(),
);
