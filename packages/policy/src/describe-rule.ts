import { ApprovalMode, type PolicyRule } from "@devtool/schema";

const MODE_NAMES: ReadonlyMap<ApprovalMode, string> = new Map([
  [ApprovalMode.DEFAULT, "default"],
  [ApprovalMode.AUTO_EDIT, "auto_edit"],
  [ApprovalMode.PLAN, "plan"],
  [ApprovalMode.YOLO, "yolo"],
]);

/**
 * Describes in one line which calls a rule applies to, for lists and for the
 * options of a question.
 *
 * A rule without conditions applies to `everything`.
 */
export function describeRule(rule: PolicyRule): string {
  const {
    tool,
    commandPrefix,
    exactCommand,
    commandRegex,
    path,
    mcpServer,
    argsPattern,
    modes,
    principal,
    role,
    agent,
  } = rule;
  const conditions = [
    commandPrefix
      .map((prefix) => (exactCommand ? prefix : `${prefix} …`))
      .join(", "),
    rule.withoutSandbox ? "also without a sandbox" : "",
    commandRegex === "" ? "" : `commands like ${commandRegex}`,
    tool.length > 0 && commandPrefix.length === 0 ? tool.join(", ") : "",
    path.length > 0
      ? `on ${path.map((pattern) => pattern.replaceAll("\\", "")).join(", ")}`
      : "",
    mcpServer === "" ? "" : `of MCP server ${mcpServer}`,
    argsPattern === "" ? "" : `with arguments like ${argsPattern}`,
    ...Object.entries(rule.annotations).map(
      ([name, value]) => `where ${name} is ${value}`,
    ),
    principal.length > 0 ? `for ${principal.join(", ")}` : "",
    role.length > 0 ? `for role ${role.join(", ")}` : "",
    agent.length > 0 ? `of agent ${agent.join(", ")}` : "",
    modes.length > 0
      ? `in mode ${modes.map((mode) => MODE_NAMES.get(mode)).join(", ")}`
      : "",
  ].filter((condition) => condition !== "");
  return conditions.length > 0 ? conditions.join(" ") : "everything";
}
