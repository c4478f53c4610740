import { create } from "@bufbuild/protobuf";
import { prepareCall } from "@devtool/coding-agent/testing";
import { readMcpResourceTool } from "@devtool/mcp/testing";
import { createPolicyEngine, parsePolicyFile } from "@devtool/policy";
import {
  ApprovalMode,
  OPTION_PROCEED_ALWAYS_SERVER,
  TaskSchema,
  ToolCallSchema,
  ToolCallStatus,
} from "@devtool/schema";
import { describe, expect, it } from "vitest";

const signal = AbortSignal.timeout(300_000);

describe("read_mcp_resource", () => {
  it("obeys the rules about the server whose resource it reads", async () => {
    expect(
      await decided("mail", 'mcp_server = "mail"\ndecision = "deny"'),
    ).toBe(ToolCallStatus.FAILED);
    expect(
      await decided("notes", 'mcp_server = "mail"\ndecision = "deny"'),
    ).toBe(ToolCallStatus.PENDING);
  });

  it("is bound to its server, so that an answer about one server is none about another", async () => {
    const { call, detail } = await prepared("notes", "");
    expect(call.confirmationRequest?.options.map(({ id }) => id)).toContain(
      OPTION_PROCEED_ALWAYS_SERVER,
    );
    expect(detail.rule).toBe("mcp:notes::a1");
  });

  it.each([
    ['mcp_server = "notes"', "allow", false],
    ['tool = "mcp__notes__*"', "allow", false],
    ['tool = "read_mcp_resource"', "allow", true],
    ['tool = "*"', "allow", true],
    ['mcp_server = "*"', "allow", true],
    ['mcp_server = "notes"\nmcp_server_hash = "a1"', "allow", true],
    ['mcp_server = "notes"', "deny", true],
    ['tool = "mcp__notes__*"', "deny", true],
  ])(
    "of a server with the name of an operator's is not covered by a rule that allows that one: %s, %s: %s",
    async (rule, decision, applies) => {
      const decided = async (isNamesake: boolean) => {
        const rules = `[[rule]]\n${rule}\ndecision = "${decision}"`;
        const { call } = await prepared("notes", rules, isNamesake);
        const isDenied = call.status === ToolCallStatus.FAILED;
        if (call.confirmationRequest) return "ask";
        return isDenied ? "deny" : "allow";
      };
      expect(await decided(false)).toBe(decision);
      expect(await decided(true)).toBe(applies ? decision : "ask");
    },
  );

  async function decided(
    server: string,
    rule: string,
  ): Promise<ToolCallStatus> {
    return (await prepared(server, `[[rule]]\n${rule}`)).call.status;
  }

  async function prepared(server: string, rules: string, isNamesake = false) {
    const origin = { serverHash: "a1", place: "node server", isNamesake };
    const resources = ["notes", "mail"].map((name) => ({
      ...origin,
      server: name,
      uri: "a:b",
      isTemplate: false,
      change: "none" as const,
      name: "a",
    }));
    const tool = readMcpResourceTool(
      resources,
      () => Promise.reject(new Error("not read")),
      1,
    );
    const call = create(ToolCallSchema, {
      ...{
        toolCallId: "c",
        toolName: "read_mcp_resource",
        status: ToolCallStatus.PENDING,
      },
      inputParameters: { server, uri: "a:b" },
    });
    const policy = createPolicyEngine({
      ...{
        mode: ApprovalMode.DEFAULT,
        workspace: "/w",
        shellConfinement: "none",
      },
      rules: parsePolicyFile(rules, { tier: "user", file: "user.toml" }),
    });
    const tools = new Map([["read_mcp_resource", tool]]);
    const context = {
      tools,
      policy,
      task: create(TaskSchema),
      settle: () => "unknown" as const,
    };
    return prepareCall(
      { call },
      new Map(),
      { ...context, onNotice: () => undefined },
      signal,
    );
  }
});
