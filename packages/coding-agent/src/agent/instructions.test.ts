import { describe, expect, it } from "vitest";
import { type InstructionFacts, writeInstructions } from "./instructions.ts";

const facts: InstructionFacts = {
  workspacePath: "/work/some where",
  memory: [],
  platform: "linux",
  date: new Date("2026-11-21T23:59:59Z"),
  servers: [],
  tools: ["read_file", "replace"],
  mode: "work",
};

describe("writeInstructions", () => {
  it("names the workspace and the date, and gives the same text for the same facts", () => {
    const text = writeInstructions(facts);
    expect(text).toContain(
      '- workspace: "/work/some where"; paths may be relative to it',
    );
    expect(text).toContain("- today: 2026-11-21");
    expect(writeInstructions({ ...facts })).toBe(text);
  });

  it("gives advice only on the tools that the agent has", () => {
    const text = writeInstructions(facts);
    expect(text).toContain("Prefer replace");
    expect(text).not.toContain("run_shell_command");
    expect(writeInstructions({ ...facts, tools: [] })).not.toContain(
      "Your tools:",
    );
  });

  it("forbids changes only in plan mode", () => {
    expect(writeInstructions(facts)).not.toContain("plan mode");
    expect(writeInstructions({ ...facts, mode: "plan" })).toContain(
      "plan mode",
    );
  });

  it("ends with the memory files that are not empty, in order and with their paths", () => {
    const memory = (path: string, text: string) => ({
      path,
      text,
      scope: "workspace" as const,
      bytes: text.length,
    });
    const text = writeInstructions({
      ...facts,
      memory: [
        memory("/op/AGENTS.md", "Be brief.\n"),
        memory("/w/GEMINI.md", " \n"),
        memory("/w/AGENTS.md", "Use tabs."),
      ],
    });
    expect(text).toMatch(
      /<memory path="\/op\/AGENTS.md">\nBe brief\.\n<\/memory>\n\n<memory path="\/w\/AGENTS.md">\nUse tabs\.\n<\/memory>$/,
    );
    expect(writeInstructions(facts)).not.toContain("<memory");
  });
});
