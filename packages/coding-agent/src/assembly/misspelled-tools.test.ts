import { parsePolicyFile } from "@devtool/policy";
import { describe, expect, it } from "vitest";
import { misspelledTools } from "./misspelled-tools.ts";

const TOOLS = ["read_file", "write_file", "glob"];

describe("tools that rules misspell", () => {
  const noticesOf = (...names: readonly string[]) =>
    misspelledTools(
      parsePolicyFile(
        `[[rule]]\ntool = ${JSON.stringify(names)}\ndecision = "deny"\n`,
        { tier: "user", file: "policy.toml" },
      ),
      TOOLS,
    );

  it("are noticed, with the tool that was meant", () => {
    expect(noticesOf("writefile", "raed_file")).toEqual([
      'policy.toml:1 never applies to "writefile", which is not a tool: did you mean write_file?',
      'policy.toml:1 never applies to "raed_file", which is not a tool: did you mean read_file?',
    ]);
  });

  it("are not tools of MCP servers, of other agents, and all tools", () => {
    const others = ["mcp__files__write_file", "mcp__files__*", "*", "edit"];
    expect(noticesOf(...others, "glob", "fetch")).toEqual([]);
  });
});
