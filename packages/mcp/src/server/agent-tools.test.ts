import { expect, it } from "vitest";
import { agentOfTool, listTools } from "./agent-tools.ts";

it("gives each agent a tool of its own, also where long names begin alike", () => {
  const agents = ["one", "two"].map((ending) => ({
    name: `${"a".repeat(60)}-${ending}`,
    displayName: "",
    description: "",
    skills: [],
  }));
  const names = listTools(agents, { asksUser: true })
    .map(({ name }) => name)
    .slice(0, 2);
  expect(names.map((name) => agentOfTool(agents, name))).toEqual(agents);
  for (const name of names) expect(name).toMatch(/^agent_[\w-]{48}$/);
});
