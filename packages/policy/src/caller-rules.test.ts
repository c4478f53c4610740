import { ApprovalMode } from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { callRequest, type PlainCall } from "./call-request.ts";
import { describeRule } from "./describe-rule.ts";
import { createFileAccess, createReadDecision } from "./file-rules.ts";
import { parsePolicyFile } from "./parse-policy-file.ts";
import type { PolicyDecision } from "./policy-engine.ts";
import type { PolicyCaller } from "./policy-subject.ts";
import { createPolicyEngine } from "./rule-policy.ts";
import { createShellAnalyzer } from "./shell/shell-analysis.ts";

const ADA: PolicyCaller = {
  principal: "https://login.example#ada",
  roles: ["dev", "ops"],
  agent: "devtool",
};
const MAKE: PlainCall = { case: "command", command: "make" };
const analyze = createShellAnalyzer();

describe("a rule about who a call is for", () => {
  it.each([
    // Condition, caller, whether it applies.
    ['principal = "https://login.example#ada"', ADA, true],
    ['principal = ["x", "https://login.example#ada"]', ADA, true],
    ['principal = "https://login.example#ad"', ADA, false],
    ['principal = "https://login.example#Ada"', ADA, false],
    ['principal = "https://other.example#ada"', ADA, false],
    ['principal = "*"', ADA, false],
    ['role = "ops"', ADA, true],
    ['role = ["x", "dev"]', ADA, true],
    ['role = "op"', ADA, false],
    ['role = "Ops"', ADA, false],
    // Cyrillic "о" in place of the Latin one.
    ['role = "\\u043Eps"', ADA, false],
    ['role = "ops"', { ...ADA, roles: [] }, false],
    // A role is not a principal, nor the other way round.
    ['principal = "local"', { ...ADA, roles: ["local"] }, false],
    ['role = "https://login.example#ada"', ADA, false],
    ['agent = "devtool"', ADA, true],
    ['agent = "codex"', ADA, false],
    ['role = "ops"\nagent = "devtool"\nprincipal = "nobody"', ADA, false],
    ['role = "ops"\ntool = "run_shell_command"', ADA, true],
    ['role = "ops"\ntool = "write_file"', ADA, false],
  ] as const)("%s: applies %#", async (condition, caller, applies) => {
    for (const decision of ["allow", "deny"] as const) {
      const found = await decide(condition, decision, caller);
      expect(found.decision).toBe(applies ? decision : "ask");
    }
  });

  it("applies where it restricts, and not where it allows, if nobody is known", async () => {
    for (const condition of ['principal = "p"', 'role = "r"', 'agent = "a"']) {
      for (const caller of [undefined, { ...ADA, agent: "" }]) {
        if (caller && condition !== 'agent = "a"') continue;
        const of = async (decision: "allow" | "deny") =>
          (await decide(condition, decision, caller)).decision;
        expect([await of("allow"), await of("deny")]).toEqual(["ask", "deny"]);
      }
    }
  });

  it("reads the caller for each decision", async () => {
    let caller = ADA;
    const engine = createPolicyEngine({
      workspace: "/w",
      shellConfinement: "none",
      analyze,
      rules: rulesOf('role = "ops"', "deny"),
      get caller() {
        return caller;
      },
    });
    const decided = async () =>
      (await engine.decide(callRequest(MAKE), soon())).decision;
    expect(await decided()).toBe("deny");
    caller = { ...ADA, roles: [] };
    expect(await decided()).toBe("ask");
  });

  it("keeps files from those that it names alone", () => {
    const rules = rulesOf('role = "ops"\npath = ".env"', "deny");
    const place = { workspace: "/w", mode: ApprovalMode.YOLO };
    const call = {
      toolName: "search_file_content",
      args: {},
      named: [],
      shows: "content",
    } as const;
    for (const [caller, mayRead] of [
      [ADA, true],
      [{ ...ADA, roles: ["dev"] }, false],
      [undefined, true],
    ] as const) {
      const where = { ...place, caller };
      expect(createFileAccess(rules, where)(call)(".env")).toBe(!mayRead);
      expect(createReadDecision(rules, where)(".env")).toBe(
        mayRead ? "deny" : "allow",
      );
    }
  });

  it("makes hidden commands ask in yolo mode for those that it names alone", async () => {
    const rules = rulesOf('role = "ops"\ncommand_prefix = "rm"', "deny");
    const hidden: PlainCall = { case: "command", command: "eval $X" };
    for (const [roles, expected] of [
      [["ops"], "ask"],
      [["dev"], "allow"],
    ] as const) {
      const engine = createPolicyEngine({
        workspace: "/w",
        shellConfinement: "none",
        analyze,
        mode: ApprovalMode.YOLO,
        rules,
        caller: { ...ADA, roles },
      });
      const { decision } = await engine.decide(callRequest(hidden), soon());
      expect(decision).toBe(expected);
    }
  });

  it("is described with them, and refused with an empty name", () => {
    const [rule] = rulesOf(
      'role = "ops"\nprincipal = "p"\nagent = "a"',
      "deny",
    );
    expect(rule && describeRule(rule.rule)).toBe(
      "for p for role ops of agent a",
    );
    for (const field of ["principal", "role", "agent"]) {
      expect(() => rulesOf(`${field} = ["x", ""]`, "deny")).toThrow(
        `rule 1: ${field} "" cannot be used: write a name, or leave it out`,
      );
      expect(() => rulesOf(`${field} = []`, "deny")).toThrow(
        `${field} is empty`,
      );
    }
  });
});

async function decide(
  condition: string,
  decision: "allow" | "deny",
  caller: PolicyCaller | undefined,
): Promise<PolicyDecision> {
  const engine = createPolicyEngine({
    workspace: "/w",
    // The rules that allow every command apply in a sandbox alone.
    shellConfinement: "sandbox",
    analyze,
    rules: rulesOf(condition, decision),
    caller,
  });
  return engine.decide(callRequest(MAKE), soon());
}

function rulesOf(condition: string, decision: "allow" | "deny") {
  return parsePolicyFile(`[[rule]]\n${condition}\ndecision = "${decision}"\n`, {
    tier: "operator",
    file: "operator.toml",
  });
}

function soon(): AbortSignal {
  return AbortSignal.timeout(60_000);
}
