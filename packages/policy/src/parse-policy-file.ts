import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isObject } from "@devtool/internal/json";
import {
  decodeStrictJson,
  type PolicyRule,
  PolicyRuleSchema,
} from "@devtool/schema";
import { parse } from "smol-toml";
import { compileRule } from "./compile-rule.ts";
import type { CompiledRule, PolicyTier } from "./compiled-rule.ts";
import { fileError, PolicyError } from "./policy-error.ts";
import { tomlProblem } from "./toml-problem.ts";

const MAX_RULES = 1000;

/**
 * Parses the rules of a policy file from its text.
 *
 * `file` is the name of the file in decisions and errors. Throws a
 * `PolicyError` as `readPolicyFile` does.
 */
export function parsePolicyFile(
  text: string,
  { tier, file }: { tier: PolicyTier; file: string },
): CompiledRule[] {
  let toml: JsonValue;
  try {
    // Converting through JSON turns a date into a string, which no field
    // accepts, and refuses numbers that JSON does not have.
    toml = JSON.parse(JSON.stringify(parse(text)));
  } catch (reason) {
    throw fileError(file, `is not valid TOML: ${tomlProblem(reason)}`, {
      cause: reason,
    });
  }
  const { rule: rules = [], ...others } = isObject(toml) ? toml : {};
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) {
    throw fileError(file, `has ${JSON.stringify(unknown)}`, {
      remedy: "write [[rule]] tables only",
    });
  }
  if (!Array.isArray(rules)) {
    throw fileError(file, "has a rule that is not a [[rule]] table");
  }
  if (rules.length > MAX_RULES) {
    throw fileError(file, `has ${rules.length} rules: limit is ${MAX_RULES}`);
  }
  const headings = [...text.matchAll(/^[ \t]*\[\[\s*rule\s*\]\]/gm)];
  // A heading within a text of several lines is not one.
  const isExact = headings.length === rules.length;
  return rules.map((json, index) => {
    const number = index + 1;
    const before = text.slice(0, headings[index]?.index);
    const line = isExact ? before.split("\n").length : undefined;
    try {
      return compileRule(decodeRule(json), { tier, file, number, line });
    } catch (reason) {
      const message = reason instanceof Error ? reason.message : String(reason);
      const { problem, remedy = "" } =
        reason instanceof PolicyError ? reason : { problem: message };
      throw fileError(file, `rule ${number}: ${problem}`, {
        remedy,
        cause: reason,
      });
    }
  });
}

/** The fields that accept one string in place of a list. */
const LISTS: readonly string[] = [
  "tool",
  "command_prefix",
  "path",
  "principal",
  "role",
  "agent",
];

/**
 * The fields that only people read, which may be empty. The others are
 * conditions, numbers and switches.
 */
const TEXTS: readonly string[] = ["name", "deny_message", "denyMessage"];

const DECISIONS: ReadonlyMap<JsonValue, string> = new Map([
  ["allow", "RULE_DECISION_ALLOW"],
  ["ask", "RULE_DECISION_ASK"],
  ["deny", "RULE_DECISION_DENY"],
]);

const MODES: ReadonlyMap<JsonValue, string> = new Map([
  ["default", "APPROVAL_MODE_DEFAULT"],
  ["auto_edit", "APPROVAL_MODE_AUTO_EDIT"],
  ["plan", "APPROVAL_MODE_PLAN"],
  ["yolo", "APPROVAL_MODE_YOLO"],
]);

/**
 * Decodes a rule as people write it: enum values by short names (`allow`,
 * `auto_edit`), and one string where a list is expected.
 */
function decodeRule(json: JsonValue): PolicyRule {
  if (!isObject(json)) {
    throw new PolicyError("is not a table", "invalid", {
      remedy: "write [[rule]]",
    });
  }
  const { decision, modes, ...rest } = json;
  const message: JsonObject = { ...rest };
  for (const name of LISTS) {
    if (typeof rest[name] === "string") message[name] = [rest[name]];
  }
  if (decision !== undefined) {
    message.decision = enumName("decision", decision, DECISIONS);
  }
  if (modes !== undefined) {
    message.modes = (Array.isArray(modes) ? modes : [modes]).map((mode) =>
      enumName("modes", mode, MODES),
    );
  }
  const rule = decodeStrictJson(PolicyRuleSchema, message, "", {
    spelling: "name",
  });
  for (const [field, value] of Object.entries(rest)) {
    if (!TEXTS.includes(field)) assertCondition(field, value);
  }
  if (modes !== undefined) assertCondition("modes", modes);
  return rule;
}

/** Throws for an empty condition: the rule would apply to every call. */
function assertCondition(field: string, value: JsonValue): void {
  const isEmpty =
    value === "" ||
    (typeof value === "object" &&
      value !== null &&
      Object.keys(value).length === 0);
  if (!isEmpty) return;
  throw new PolicyError(`${field} is empty`, "invalid", {
    remedy: "name what it holds for, or leave it out",
  });
}

function enumName(
  field: string,
  value: JsonValue,
  names: ReadonlyMap<JsonValue, string>,
): string {
  const name = names.get(value);
  if (name !== undefined) return name;
  const choices = [...names.keys()].join(", ");
  throw new PolicyError(
    `${field} ${JSON.stringify(value)} is unknown`,
    "invalid",
    { remedy: `choose ${choices}` },
  );
}
