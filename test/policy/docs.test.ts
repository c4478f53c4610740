import { readFileSync } from "node:fs";
import { create } from "@bufbuild/protobuf";
import { createPolicyEngine, parsePolicyFile } from "@devtool/policy";
import {
  ApprovalMode,
  ExecuteDetailsSchema,
  PolicyRuleSchema,
  TaskSchema,
  ToolCallSchema,
} from "@devtool/schema";
import { describe, expect, it } from "vitest";

const MANUAL = readFileSync(
  new URL("../../docs/policy.md", import.meta.url),
  "utf8",
);

describe("the manual of the policy", () => {
  const [, toml = ""] = /```toml\n([\s\S]*?)```/.exec(MANUAL) ?? [];
  const [, decisions = ""] =
    /<!-- decisions -->\n```\n([\s\S]*?)```/.exec(MANUAL) ?? [];

  it("shows rules that load, and what they decide", async () => {
    const rules = parsePolicyFile(toml, { tier: "user", file: "policy.toml" });
    expect(rules).toHaveLength(5);
    const options = {
      workspace: "/w",
      shellConfinement: "sandbox" as const,
      rules,
    };
    const engine = createPolicyEngine({
      ...options,
      mode: ApprovalMode.DEFAULT,
    });
    const lines = decisions.trimEnd().split("\n");
    expect(lines.length).toBeGreaterThan(10);
    for (const line of lines) {
      const command = line.slice(7);
      const details = {
        case: "executeDetails" as const,
        value: create(ExecuteDetailsSchema, { command }),
      };
      const call = create(ToolCallSchema, {
        toolName: "run_shell_command",
        inputParameters: { command },
      });
      const request = {
        call,
        details,
        facts: undefined,
        task: create(TaskSchema),
      };
      const { decision } = await engine.decide(
        request,
        AbortSignal.timeout(60_000),
      );
      expect(`${decision.padEnd(6)} ${command}`).toBe(line);
    }
  });

  it("lists every field that a rule may have", () => {
    const written = PolicyRuleSchema.fields
      .map(({ name }) => name)
      .filter((name) => !SAVED_ONLY.has(name));
    expect(written.length).toBeGreaterThan(10);
    for (const name of written) expect(MANUAL).toContain(`| \`${name}\``);
  });
});

/** Fields that only the rules of saved approvals have. */
const SAVED_ONLY: ReadonlySet<string> = new Set([
  "definition_hash",
  "workspace",
  "exact_command",
  "without_sandbox",
  "mcp_server_hash",
]);
