import { type PolicyRule, RuleDecision } from "@devtool/schema";
import picomatch from "picomatch";
import type { CompiledRule, RuleOrigin } from "./compiled-rule.ts";
import { foldedPath } from "./guarded-paths.ts";
import { compilePattern } from "./pattern.ts";
import { PolicyError } from "./policy-error.ts";

const TOOL = /^(\*|[\w.-]+|mcp__.+__\*)$/;
const DECISION_NAMES: Readonly<
  Record<
    Exclude<RuleDecision, RuleDecision.UNSPECIFIED>,
    CompiledRule["decision"]
  >
> = {
  [RuleDecision.ALLOW]: "allow",
  [RuleDecision.ASK]: "ask",
  [RuleDecision.DENY]: "deny",
};
/**
 * The form in which `commandText` writes commands: a prefix in any other form
 * would never match.
 */
const COMMAND_PREFIX =
  /^([\w@%+=:,./^~-]|'[^']*'|\\')+( ([\w@%+=:,./^~-]|'[^']*'|\\')+)*$/;

/**
 * Checks a rule and compiles its patterns.
 *
 * Throws a `PolicyError` that names the field and the values that it may have.
 */
export function compileRule(
  rule: PolicyRule,
  origin: RuleOrigin,
): CompiledRule {
  const { tier, file, number } = origin;
  const { tool, commandPrefix, commandRegex, argsPattern, priority } = rule;
  const badTool = tool.find((name) => !TOOL.test(name));
  if (badTool !== undefined) {
    throw fieldError("tool", badTool, "choose a name, * or mcp__<server>__*");
  }
  for (const field of ["principal", "role", "agent"] as const) {
    if (rule[field].includes("")) {
      throw fieldError(field, "", "write a name, or leave it out");
    }
  }
  const badPrefix = commandPrefix.find(
    (prefix) => !COMMAND_PREFIX.test(prefix),
  );
  if (badPrefix !== undefined) {
    throw fieldError(
      "command_prefix",
      badPrefix,
      "separate words by single spaces and put others in single quotes",
    );
  }
  if (priority < 0 || priority > 999) {
    throw fieldError("priority", `${priority}`, "choose 0 to 999");
  }
  if (rule.decision === RuleDecision.UNSPECIFIED) {
    throw new PolicyError("decision is missing", "invalid", {
      remedy: "choose allow, ask or deny",
    });
  }
  return {
    rule,
    tier,
    origin,
    label: `${file}:${rule.name === "" ? number : rule.name}`,
    decision: DECISION_NAMES[rule.decision],
    args: argsPattern === "" ? undefined : compilePattern(argsPattern),
    command:
      commandRegex === ""
        ? undefined
        : // A word with a line break takes no command out of a rule that denies.
          compilePattern(
            commandRegex,
            "whole",
            rule.decision === RuleDecision.ALLOW ? "in a line" : "anything",
          ),
    isPath: compilePaths(rule),
  };
}

/**
 * Returns what tells whether a path meets the `path` of a rule.
 *
 * A rule that asks or denies applies to every name by which some file system
 * finds the file; one that allows, to the name that it gives.
 */
function compilePaths({ path, decision }: PolicyRule): CompiledRule["isPath"] {
  if (path.length === 0) return () => true;
  // With "s", `**` also matches names with line breaks.
  const matches = picomatch([...path], { dot: true, flags: "s" });
  if (decision === RuleDecision.ALLOW) return (name) => matches(name);
  const matchesAnyCase = picomatch([...path], { dot: true, flags: "si" });
  // For a pattern with `!`, any case can be less.
  return (name) =>
    matches(name) || matchesAnyCase(name) || matchesAnyCase(foldedPath(name));
}

function fieldError(field: string, value: string, remedy: string): PolicyError {
  return new PolicyError(
    `${field} ${JSON.stringify(value)} cannot be used`,
    "invalid",
    { remedy },
  );
}
