import type { Policies } from "../services.ts";
import type { SlashCommand } from "../slash-command.ts";
import { saying } from "../steps.ts";

/** `/policies list`: the rules that decide what runs, asks or is denied. */
export function policiesCommand(policies: Policies): SlashCommand {
  return {
    path: ["policies", "list"],
    group: "Shows the rules that decide which tool calls run, ask or are denied",
    description: "Lists the rules that decide on tool calls, the first that fits counts",
    arguments: [],
    play: (_args, context) =>
      saying(async () => {
        const rules = await policies.list(context);
        if (rules.length === 0) return "There are no rules: what changes something asks.";
        return rules
          .map(({ decision, name, description }) => `${decision.padEnd(5)} ${description} (${name})`)
          .join("\n");
      }),
  };
}
