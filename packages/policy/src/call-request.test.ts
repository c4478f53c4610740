import { describe, expect, it } from "vitest";
import { callRequest, type PlainCall } from "./call-request.ts";
import { parsePolicyFile } from "./parse-policy-file.ts";
import type { PolicyDecision } from "./policy-engine.ts";
import { createPolicyEngine } from "./rule-policy.ts";
import { createShellAnalyzer } from "./shell/shell-analysis.ts";

const RULES = `
[[rule]]
tool = "read_file"
path = "**/.env"
decision = "deny"
deny_message = "it holds secrets"

[[rule]]
tool = "write_file"
path = "generated/**"
decision = "allow"

[[rule]]
command_prefix = "make"
decision = "allow"

[[rule]]
tool = "mcp__notes__*"
decision = "allow"
`;

describe("a request made from a plain call", () => {
  const analyze = createShellAnalyzer();

  it.each<[PlainCall, Pick<PolicyDecision, "decision"> & { rule?: string }]>([
    [
      { case: "read", path: "src/main.ts" },
      { decision: "allow", rule: "" },
    ],
    [
      { case: "read", path: "deep/.env" },
      { decision: "deny", rule: "policy.toml:1" },
    ],
    [{ case: "read", path: "deep/.env", tool: "view" }, { decision: "allow" }],
    [
      { case: "edit", path: "generated/a.ts" },
      { decision: "allow", rule: "policy.toml:2" },
    ],
    [{ case: "edit", path: "/w/generated/../a.ts" }, { decision: "ask" }],
    [
      { case: "edit", path: "generated/a.ts", tool: "patch" },
      { decision: "ask" },
    ],
    [
      { case: "command", command: "make test" },
      { decision: "allow", rule: "policy.toml:3" },
    ],
    [
      { case: "command", command: "ls", directory: "src" },
      { decision: "allow", rule: "builtin:reads-only" },
    ],
    [{ case: "command", command: "make; rm -rf ." }, { decision: "ask" }],
    [
      { case: "other", tool: "send_mail", args: { to: "a" } },
      { decision: "ask" },
    ],
    [
      {
        case: "other",
        tool: "mcp__notes__add",
        args: {},
        facts: { mcpServer: "notes" },
      },
      { decision: "allow" },
    ],
    [
      {
        case: "other",
        tool: "mcp__notes__add",
        args: {},
        facts: { mcpServer: "other" },
      },
      { decision: "ask" },
    ],
  ])("is decided like a call of our own tools: %j", async (call, expected) => {
    const rules = parsePolicyFile(RULES, { tier: "user", file: "policy.toml" });
    const policy = createPolicyEngine({
      workspace: "/w",
      shellConfinement: "sandbox",
      rules,
      analyze,
    });
    expect(
      await policy.decide(callRequest(call), AbortSignal.timeout(60_000)),
    ).toMatchObject(expected);
  });
});
