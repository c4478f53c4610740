import { ApprovalMode, type PolicyRule } from "@devtool/schema";

/** Says in a line which calls a rule is about. */
export function describeRule(rule: PolicyRule): string {
  const conditions = [
    commandWords(rule),
    rule.withoutSandbox ? "also without a sandbox" : "",
    rule.commandRegex === "" ? "" : `commands like ${rule.commandRegex}`,
    rule.tool.length > 0 && rule.commandPrefix.length === 0 ? rule.tool.join(", ") : "",
    rule.path.length > 0 ? `on ${rule.path.map((path) => path.replaceAll("\\", "")).join(", ")}` : "",
    rule.mcpServer === "" ? "" : `of MCP server ${rule.mcpServer}`,
    rule.argsPattern === "" ? "" : `with arguments like ${rule.argsPattern}`,
    ...Object.entries(rule.annotations).map(([name, value]) => `where ${name} is ${value}`),
    rule.modes.length > 0 ? `in mode ${rule.modes.map((mode) => MODES.get(mode)).join(", ")}` : "",
  ].filter((words) => words !== "");
  return conditions.length > 0 ? conditions.join(" ") : "everything";
}

function commandWords({ commandPrefix, exactCommand }: PolicyRule): string {
  return commandPrefix.map((prefix) => (exactCommand ? prefix : `${prefix} …`)).join(", ");
}

const MODES: ReadonlyMap<ApprovalMode, string> = new Map([
  [ApprovalMode.DEFAULT, "default"],
  [ApprovalMode.AUTO_EDIT, "auto_edit"],
  [ApprovalMode.PLAN, "plan"],
  [ApprovalMode.YOLO, "yolo"],
]);
