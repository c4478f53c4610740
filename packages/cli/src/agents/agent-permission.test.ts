import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import {
  ApprovalMode,
  ExecuteDetailsSchema,
  FileDiffSchema,
} from "@devtool/schema";
import type {
  PermissionDecision,
  PermissionRequest,
} from "@devtool/server/agent";
import { beforeEach, describe, expect, it } from "vitest";
import { permissionPolicy } from "./agent-permission.ts";

const RULES = `
[[rule]]
tool = "run_shell_command"
command_prefix = "git status"
decision = "allow"

[[rule]]
tool = "run_shell_command"
command_prefix = "rm"
decision = "deny"
deny_message = "nothing is removed here"

[[rule]]
tool = "write_file"
path = "notes/**"
decision = "allow"
`;

describe("the permission requests of other agents", () => {
  let data: string;
  beforeEach(async () => {
    data = temporaryDirectory();
    await writeFile(join(data, "policy.toml"), RULES, { mode: 0o600 });
  });

  it("are answered by a rule about the command, whatever the agent calls its tool", async () => {
    expect(await decisionAbout(command("git status -s"))).toMatchObject({
      case: "allow",
      rule: "policy.toml:1",
    });
    expect(await decisionAbout(command("rm notes.txt"))).toEqual({
      case: "deny",
      rule: "policy.toml:2",
      reason: "nothing is removed here",
    });
  });

  it("go to the user where no rule decides, and where one decides only about a part", async () => {
    for (const line of ["make", "git status && make", "git status > out"]) {
      expect(await decisionAbout(command(line))).toEqual({ case: "ask" });
    }
    expect(
      await decisionAbout({
        kind: "other",
        toolName: "launch",
        input: { what: "all" },
      }),
    ).toEqual({ case: "ask" });
  });

  it("go to the user each time where a rule wants that: an earlier answer for all changes does not count", async () => {
    const firm = { case: "ask", rule: "builtin:guarded-path" };
    expect(await decisionAbout(edit(".git/config"))).toEqual(firm);
    expect(
      await decisionAbout(edit("a.txt", ".git/config"), ApprovalMode.YOLO),
    ).toEqual(firm);
  });

  it("about several files are answered only if a rule decides about each", async () => {
    expect(await decisionAbout(edit("notes/a.md"))).toMatchObject({
      case: "allow",
      rule: "policy.toml:3",
    });
    expect(await decisionAbout(edit("notes/a.md", "src/b.ts"))).toEqual({
      case: "ask",
    });
  });

  it("follow the approval mode, which a session only narrows (SESSION-3)", async () => {
    const { YOLO, PLAN, DEFAULT } = ApprovalMode;
    expect(await decisionAbout(edit("a.txt"), YOLO)).toMatchObject({
      case: "allow",
    });
    expect(
      await decisionAbout({ ...edit("a.txt"), approvalMode: DEFAULT }, YOLO),
    ).toEqual({ case: "ask" });
    expect(
      await decisionAbout({ ...edit("a.txt"), approvalMode: PLAN }, YOLO),
    ).toMatchObject({ case: "deny" });
    expect(
      await decisionAbout({ ...edit("a.txt"), approvalMode: YOLO }, DEFAULT),
    ).toEqual({ case: "ask" });
  });

  async function decisionAbout(
    about: Partial<PermissionRequest>,
    approvalMode?: ApprovalMode,
  ): Promise<PermissionDecision> {
    const policy = await permissionPolicy({
      dataDirectory: data,
      ...(approvalMode && { approvalMode }),
    });
    const request = {
      workspacePath: "/w",
      principal: "operator",
      caller: { principal: "operator", roles: [], agent: "fake" },
      approvalMode: ApprovalMode.UNSPECIFIED,
      toolName: "tool",
      kind: "other",
      title: "",
      input: {},
      details: { case: undefined },
      paths: [],
      ...about,
    };
    return policy(request, AbortSignal.timeout(60_000));
  }
});

function command(line: string): Partial<PermissionRequest> {
  return {
    kind: "execute",
    details: {
      case: "executeDetails",
      value: create(ExecuteDetailsSchema, { command: line }),
    },
  };
}

function edit(...paths: readonly string[]): Partial<PermissionRequest> {
  const value = create(FileDiffSchema, { filePath: `/w/${paths[0]}` });
  return {
    kind: "edit",
    details: { case: "fileEditDetails", value },
    paths: paths.map((path) => `/w/${path}`),
  };
}
