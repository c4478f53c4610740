import type { CompiledRule } from "@devtool/policy";
import { nearest } from "../command/nearest.ts";

/** The number of wrong characters up to which a name is a misspelled one. */
const MAX_EDITS = 2;

/**
 * Returns a notice for each tool that a rule misspells: the rule never applies.
 *
 * Other names are left alone. They may be those of MCP servers, which start
 * later, and of other agents, which follow the same files.
 *
 * @param tools the names of the agent's own tools
 */
export function misspelledTools(
  rules: readonly CompiledRule[],
  tools: readonly string[],
): string[] {
  return rules.flatMap(({ rule, label }) =>
    rule.tool
      .filter((name) => !tools.includes(name))
      .flatMap((name) => {
        const meant = nearest(name, tools, MAX_EDITS);
        const unknown = `${label} never applies to ${JSON.stringify(name)}, which is not a tool`;
        return meant === "" ? [] : [`${unknown}: did you mean ${meant}?`];
      }),
  );
}
