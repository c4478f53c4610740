import { describe, expect, it } from "vitest";
import { type InstructionFacts, instructionsFor } from "./instructions.ts";

const facts: InstructionFacts = {
  workspacePath: "/work/some where",
  memory: [],
  platform: "linux",
  date: new Date("2026-11-21T23:59:59Z"),
  tools: ["read_file", "replace"],
  mode: "work",
};

describe("instructionsFor", () => {
  it("says where the agent is, and gives the same text for the same facts", () => {
    const text = instructionsFor(facts);
    expect(text).toContain('- workspace: "/work/some where"; paths may be relative to it');
    expect(text).toContain("- today: 2026-11-21");
    expect(instructionsFor({ ...facts })).toBe(text);
  });

  it("speaks of the tools that are there alone", () => {
    const text = instructionsFor(facts);
    expect(text).toContain("Prefer replace");
    expect(text).not.toContain("run_shell_command");
    expect(instructionsFor({ ...facts, tools: [] })).not.toContain("Your tools:");
  });

  it("forbids changes in plan mode alone", () => {
    expect(instructionsFor(facts)).not.toContain("plan mode");
    expect(instructionsFor({ ...facts, mode: "plan" })).toContain("plan mode");
  });

  it("ends with the memory in its order, each file under its path, without empty ones", () => {
    const memory = (path: string, text: string) => ({ path, text, scope: "workspace" as const, bytes: text.length });
    const text = instructionsFor({
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
    expect(instructionsFor(facts)).not.toContain("<memory");
  });
});
