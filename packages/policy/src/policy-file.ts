import type { Stats } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { fromJson, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import { type PolicyRule, PolicyRuleSchema } from "@devtool/schema";
import { parse } from "smol-toml";
import { type CompiledRule, compileRule, type PolicyTier } from "./compiled-rule.ts";
import { PolicyError, type PolicyErrorOptions } from "./policy-error.ts";

/** A file of rules. */
export interface PolicySource {
  readonly path: string;
  readonly tier: PolicyTier;
  /** What the file is called in decisions. Default: its path. */
  readonly label?: string;
}

const MAX_FILE_BYTES = 256 * 1024;
const MAX_RULES = 1000;

/**
 * Reads the rules of a file; none when there is no file. Throws a `PolicyError` that names the file, the rule and the
 * field: for a file that others may write, that is not valid TOML, or that holds a field that rules do not have.
 */
export async function readPolicyFile({ path, tier, label = path }: PolicySource): Promise<CompiledRule[]> {
  const found = await stat(path).catch(() => undefined);
  if (!found) return [];
  assertOperatorsOwn(label, found);
  if (found.size > MAX_FILE_BYTES) throw wrong(label, `has ${found.size} bytes: limit is ${MAX_FILE_BYTES}`);
  return parsePolicyFile(await readFile(path, "utf8"), { tier, file: label });
}

/** Throws a `PolicyError` for a file that another user may write, or owns. */
export function assertOperatorsOwn(label: string, { mode, uid }: Pick<Stats, "mode" | "uid">): void {
  if ((mode & 0o022) !== 0)
    throw wrong(label, `may be changed by others (mode ${(mode & 0o777).toString(8)})`, { remedy: "run chmod go-w" });
  if (uid !== 0 && uid !== process.getuid?.()) throw wrong(label, "belongs to another user", { remedy: "chown it" });
}

/** Takes rules from TOML. Throws as `readPolicyFile` does. */
export function parsePolicyFile(text: string, { tier, file }: { tier: PolicyTier; file: string }): CompiledRule[] {
  return rulesOf(text, file).map((json, index) => {
    const number = index + 1;
    try {
      return compileRule(decodeRule(json), { tier, file, number });
    } catch (reason) {
      const { problem, remedy = "" } = reason instanceof PolicyError ? reason : { problem: messageOf(reason) };
      throw wrong(file, `rule ${number}: ${problem}`, { remedy, cause: reason });
    }
  });
}

function rulesOf(text: string, file: string): JsonValue[] {
  const { rule: rules = [], ...others } = tomlOf(text, file);
  const [unknown] = Object.keys(others);
  if (unknown !== undefined)
    throw wrong(file, `has ${JSON.stringify(unknown)}`, { remedy: "write [[rule]] tables only" });
  if (!Array.isArray(rules)) throw wrong(file, "has a rule that is not a [[rule]] table");
  if (rules.length > MAX_RULES) throw wrong(file, `has ${rules.length} rules: limit is ${MAX_RULES}`);
  return rules;
}

function tomlOf(text: string, file: string): JsonObject {
  try {
    // Through JSON: a date becomes a text and is refused where none is wanted; a number that JSON has not is refused here.
    const value: JsonValue = JSON.parse(JSON.stringify(parse(text)));
    return isObject(value) ? value : {};
  } catch (reason) {
    throw wrong(file, `is not valid TOML: ${messageOf(reason).split("\n")[0]}`, { cause: reason });
  }
}

/** Makes a rule of its JSON, in which names are as people write them: `allow`, `auto_edit`, one tool without a list. */
function decodeRule(json: JsonValue): PolicyRule {
  if (!isObject(json)) throw new PolicyError("is not a table", "invalid", { remedy: "write [[rule]]" });
  const { decision, modes, ...rest } = json;
  const written: JsonObject = { ...rest };
  for (const name of LISTS) if (typeof rest[name] === "string") written[name] = [rest[name]];
  if (decision !== undefined) written.decision = enumName("decision", decision, DECISIONS);
  if (modes !== undefined)
    written.modes = (Array.isArray(modes) ? modes : [modes]).map((mode) => enumName("modes", mode, MODES));
  return fromJson(PolicyRuleSchema, written);
}

const LISTS: readonly string[] = ["tool", "command_prefix", "path"];

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

function enumName(field: string, value: JsonValue, names: ReadonlyMap<JsonValue, string>): string {
  const name = names.get(value);
  if (name !== undefined) return name;
  const choices = [...names.keys()].join(", ");
  throw new PolicyError(`${field} ${JSON.stringify(value)} is unknown`, "invalid", { remedy: `choose ${choices}` });
}

function isObject(value: JsonValue): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function messageOf(reason: unknown): string {
  return reason instanceof Error ? reason.message : String(reason);
}

function wrong(file: string, problem: string, options: PolicyErrorOptions = {}): PolicyError {
  return new PolicyError(`policy file ${JSON.stringify(file)} ${problem}`, "invalid", options);
}
