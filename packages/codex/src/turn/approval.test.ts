import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import {
  commandApproval,
  fileApproval,
  permissionsApproval,
} from "./approval.ts";

const asking = (decision: JsonValue, more: JsonObject = {}) =>
  commandApproval({
    command: "ls",
    availableDecisions: [decision],
    ...more,
  });

describe("S1: a decision that Codex offers", () => {
  it("is answered with what its name says, and nothing else of it", () => {
    const approval = asking({
      acceptWithExecpolicyAmendment: {
        execpolicy_amendment: ["git", "status"],
        scope: "everything",
      },
      applyNetworkPolicyAmendment: {
        network_policy_amendment: { host: "evil.example", action: "allow" },
      },
    });
    expect(approval?.request.options.map(({ name }) => name)).toEqual([
      `Always allow commands that begin with "git status", in or outside of Codex's sandbox`,
      "Cancel",
    ]);
    expect([...(approval?.results.values() ?? [])]).toEqual([
      {
        decision: {
          acceptWithExecpolicyAmendment: {
            execpolicy_amendment: ["git", "status"],
          },
        },
      },
      { decision: "cancel" },
    ]);
  });

  it.each<JsonValue>([
    { acceptWithExecpolicyAmendment: { execpolicy_amendment: [] } },
    { acceptWithExecpolicyAmendment: { execpolicy_amendment: "rm" } },
    { acceptWithExecpolicyAmendment: { execpolicy_amendment: ["rm", 5] } },
    { applyNetworkPolicyAmendment: { network_policy_amendment: {} } },
    {
      applyNetworkPolicyAmendment: {
        network_policy_amendment: { host: "a.example", action: "Deny" },
      },
    },
    "acceptForever",
    null,
  ])("is not offered where it cannot be read: %j", (decision) => {
    expect(asking(decision)?.request.options).toMatchObject([{ id: "cancel" }]);
  });
});

describe("S1: what else Codex's question approves", () => {
  const reason = "Harmless.\n".repeat(300);
  const before = (text: unknown, needle: string) =>
    String(text)
      .split("\n")
      .findIndex((line) => line.includes(needle));

  it.each([
    [
      commandApproval({
        command: "curl a.example",
        reason,
        networkApprovalContext: { host: "a.example", protocol: "https" },
      }),
      "Connects to a.example",
    ],
    [
      fileApproval(
        [{ path: "/w/a", kind: "add", movePath: "", diff: "a\n" }],
        undefined,
        { reason, grantRoot: "/w" },
      ),
      'below "/w".',
    ],
    [
      permissionsApproval({
        reason,
        permissions: { network: { enabled: true } },
      }),
      '"enabled": true',
    ],
  ])("stands before its reason, however long", (approval, needle) => {
    const value = approval?.request.details.value;
    const description = value && "description" in value && value.description;
    const line = before(description, needle);
    expect(line).toBeGreaterThanOrEqual(0);
    expect(line).toBeLessThan(5);
    expect(before(description, "Codex's reason")).toBeGreaterThan(line);
  });

  it("S1: is the whole root that Codex asks for, in the lasting answer too", () => {
    const file = { path: "/w/a", kind: "add", movePath: "", diff: "a\n" };
    const root = "/\nnothing";
    const { request } =
      fileApproval([file], undefined, { grantRoot: root }) ?? {};
    const covers = 'all changes below "/\\nnothing"';
    expect(request?.options[1]?.description).toBe(covers);
    expect(request?.details.value).toMatchObject({
      description: expect.stringContaining(`Allows ${covers}.\n`),
    });
  });
});
