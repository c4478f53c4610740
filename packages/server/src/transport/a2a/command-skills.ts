import { create, type MessageInitShape } from "@bufbuild/protobuf";
import type { SlashCommandSchema } from "@devtool/schema";
import { type AgentSkill, AgentSkillSchema } from "@devtool/schema/a2a-v03";

/** A command as a skill, and those below it; `commands/get` says more of each. */
export function skillsOf(command: MessageInitShape<typeof SlashCommandSchema>, above: readonly string[]): AgentSkill[] {
  const path = [...above, command.name ?? ""];
  const skill = create(AgentSkillSchema, {
    id: ["command", ...path].join("/"),
    name: `/${path.join(" ")}`,
    description: command.description ?? "",
    tags: ["slash-command"],
  });
  return [skill, ...(command.subCommands ?? []).flatMap((below) => skillsOf(below, path))];
}
