import { constants, type Stats } from "node:fs";
import { lstat, open } from "node:fs/promises";
import { join } from "node:path";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isObject } from "@devtool/internal/json";
import {
  decodeStrictJson,
  type PolicyRule,
  PolicyRuleSchema,
} from "@devtool/schema";
import { parse } from "smol-toml";
import {
  type CompiledRule,
  compileRule,
  type PolicyTier,
} from "./compiled-rule.ts";
import {
  errorCode,
  PolicyError,
  type PolicyErrorOptions,
  tomlProblem,
} from "./policy-error.ts";

/** A file of rules. */
export interface PolicySource {
  readonly path: string;
  readonly tier: PolicyTier;
  /** The name of the file in decisions and errors. Default: its path. */
  readonly label?: string;
}

/** The rules of a server, with the names that they have in decisions. */
export interface ServerRules {
  /** Those with the paths of the operator's files. */
  readonly rules: readonly CompiledRule[];
  /**
   * The same, with the number of an operator's file in place of its path, for
   * instance `operator-1:3`: clients must not see paths of the server.
   */
  readonly publicRules: readonly CompiledRule[];
}

const MAX_FILE_BYTES = 256 * 1024;
const MAX_RULES = 1000;
/**
 * Characters that are not shown, except joiners: emoji and some alphabets need
 * those, also in file names.
 *
 * With one of them, a rule would not match the text that people read.
 */
const INVISIBLE = /[\p{Cf}--[\u200c\u200d]]/v;

/**
 * Reads the rules of the user, which are in the data directory, and those of
 * the operator's files. Throws a `PolicyError` for an invalid file.
 */
export async function readRules(
  dataDirectory: string | undefined,
  policyFiles: readonly string[],
): Promise<ServerRules> {
  const label = "policy.toml";
  const own =
    dataDirectory === undefined
      ? []
      : await readPolicyFile({
          path: join(dataDirectory, label),
          tier: "user",
          label,
        });
  const operators = await Promise.all(
    policyFiles.map((path) => readPolicyFile({ path, tier: "operator" })),
  );
  const numbered = policyFiles.flatMap((path, at) =>
    (operators[at] ?? []).map((rule) => ({
      ...rule,
      label: `operator-${at + 1}${rule.label.slice(path.length)}`,
    })),
  );
  return {
    rules: [...own, ...operators.flat()],
    publicRules: [...own, ...numbered],
  };
}

/**
 * Reads the rules of a policy file. A user's file that does not exist has no
 * rules; one that an operator names must exist.
 *
 * Throws a `PolicyError` that names the file, the rule and the field: for a
 * file that cannot be read, that others than its owner may write, that is
 * larger than 256 KiB or is not valid TOML, and for a rule with an unknown
 * field or a value that cannot be used.
 */
export async function readPolicyFile({
  path,
  tier,
  label = path,
}: PolicySource): Promise<CompiledRule[]> {
  if (tier === "user") {
    // A dangling link is not a missing file: the user has rules, and they
    // cannot be read.
    const isMissing = await lstat(path).then(
      () => false,
      (reason: unknown) => errorCode(reason) === "ENOENT",
    );
    if (isMissing) return [];
  }
  // O_NONBLOCK keeps a pipe without a writer from blocking; the check below
  // refuses it.
  await using file = await open(
    path,
    constants.O_RDONLY | constants.O_NONBLOCK,
  ).catch((reason: unknown) => {
    throw fileError(label, `cannot be read: ${errorCode(reason)}`, {
      cause: reason,
    });
  });
  const stats = await file.stat();
  if (!stats.isFile()) throw fileError(label, "is not a regular file");
  assertOnlyOwnerWrites(label, stats);
  if (stats.size > MAX_FILE_BYTES) {
    throw fileError(
      label,
      `has ${stats.size} bytes: limit is ${MAX_FILE_BYTES}`,
    );
  }
  const text = (await file.readFile("utf8")).replace(/^\ufeff/, "");
  const { 0: hidden = "", index } = INVISIBLE.exec(text) ?? {};
  if (index !== undefined) {
    const code = hidden
      .codePointAt(0)
      ?.toString(16)
      .toUpperCase()
      .padStart(4, "0");
    const line = text.slice(0, index).split("\n").length;
    throw fileError(
      label,
      `has the invisible character U+${code} in line ${line}`,
      {
        remedy: `remove it, or write it as an escape, \\U${code?.padStart(8, "0")}`,
      },
    );
  }
  return parsePolicyFile(text, { tier, file: label });
}

/**
 * Throws a `PolicyError` for a file that another user may write, or that
 * belongs neither to this user nor to root.
 */
export function assertOnlyOwnerWrites(
  label: string,
  { mode, uid }: Pick<Stats, "mode" | "uid">,
): void {
  if ((mode & 0o022) !== 0) {
    const problem = `may be changed by others (mode ${(mode & 0o777).toString(8)})`;
    throw fileError(label, problem, { remedy: "run chmod go-w" });
  }
  if (uid !== 0 && uid !== process.getuid?.()) {
    throw fileError(label, "belongs to another user", { remedy: "chown it" });
  }
}

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

function fileError(
  file: string,
  problem: string,
  options: PolicyErrorOptions = {},
): PolicyError {
  return new PolicyError(
    `policy file ${JSON.stringify(file)} ${problem}`,
    "invalid",
    options,
  );
}
