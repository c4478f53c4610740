import { createHash } from "node:crypto";
import { toJsonString } from "@bufbuild/protobuf";
import { PolicyRuleSchema } from "@devtool/schema";
import type { CompiledRule } from "./compiled-rule.ts";

/**
 * Returns a digest of rules, which is the same wherever their files are; empty
 * without rules.
 */
export function digestRules(rules: readonly CompiledRule[]): string {
  if (rules.length === 0) return "";
  const hash = createHash("sha256");
  for (const { tier, rule } of rules) {
    hash.update(`${tier} ${toJsonString(PolicyRuleSchema, rule)}\n`);
  }
  return hash.digest("base64url");
}
