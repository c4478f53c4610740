import { describe, expect, it } from "vitest";
import { commandTree, findCommand } from "./slash-commands.ts";

describe("/mcp of an agent over ACP", () => {
  it("is the agent's own where it has one, and says else who manages the servers", () => {
    const own = commandTree({ availableCommands: [{ name: "mcp list" }] });
    expect(findCommand(own, ["mcp", "list"])).toBeUndefined();
    expect(findCommand(own, ["mcp", "lst"])).toContain("does not exist");
    expect(findCommand([], ["mcp", "list"])).toContain(
      "the agent manages its MCP servers itself",
    );
    expect(findCommand([], ["stats"])).toBe(
      'command "/stats" does not exist: the agent has none',
    );
  });
});
