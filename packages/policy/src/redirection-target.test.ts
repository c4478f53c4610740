import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import {
  ApprovalMode,
  ExecuteDetailsSchema,
  TaskSchema,
  ToolCallSchema,
} from "@devtool/schema";
import { beforeAll, describe, expect, it } from "vitest";
import { parsePolicyFile } from "./parse-policy-file.ts";
import { createPolicyEngine } from "./rule-policy.ts";

const RULES =
  '[[rule]]\ncommand_prefix = ["echo", "sort"]\nallow_redirection = true\ndecision = "allow"\n';
const rules = parsePolicyFile(RULES, { tier: "user", file: "policy.toml" });

describe("a redirection", () => {
  let base: string;
  let workspace: string;
  beforeAll(() => {
    base = temporaryDirectory();
    workspace = join(base, "workspace");
    for (const name of [
      "workspace/.github/workflows",
      "workspace/sub",
      "outside",
    ]) {
      mkdirSync(join(base, name), { recursive: true });
    }
    symlinkSync("../outside", join(workspace, "link"));
    symlinkSync(".github", join(workspace, "ci"));
    symlinkSync("../outside/new", join(workspace, "file-link"));
    symlinkSync(".github/workflows/new.yml", join(workspace, "inner-link"));
    symlinkSync("sub", join(workspace, "alias"));
    symlinkSync("/proc/self/cwd", join(workspace, "here"));
  });

  /**
   * Targets that are expanded or lead to a guarded file, in various spellings.
   */
  const astray = [
    "echo x > ~/.local/bin/ls",
    "echo x > ~",
    "echo x > .gi?/config",
    "echo x >> .githu*/workflows/ci.yml",
    "echo x > .github/work[f]lows/ci.yml",
    "echo x > {.git,x}/config",
    'echo x > "$HOME/x"',
    "echo x > $(echo .git)/config",
    "echo x 2> ~/x",
    "echo x &> .gi?/config",
    "sort < ~/.ssh/id",
    "echo x > ci/workflows/new.yml",
    "echo x > inner-link",
    "echo x > here/ci/workflows/new.yml",
    "echo x > alias/../ci/workflows/new.yml",
    "echo x > /proc/self/cwd/ci/workflows/new.yml",
  ];

  it.each([
    ...astray,
    "echo x > link/y",
    "echo x > file-link",
    "echo x > ../outside/y",
    "sort < link/y",
  ])("asks even if a rule allows the command: %s", async (command) => {
    expect(await decide(command, ApprovalMode.DEFAULT)).toBe("ask");
  });

  it.each(astray)("asks in yolo mode: %s", async (command) => {
    expect(await decide(command, ApprovalMode.YOLO)).toBe("ask");
  });

  it.each([
    "echo x > a.txt",
    "echo x >> sub/a.txt",
    "echo x > alias/a.txt",
    "sort < a.txt",
    'echo x > "a b"',
  ])("runs if a rule allows it: %s", async (command) => {
    expect(await decide(command, ApprovalMode.DEFAULT)).toBe("allow");
  });

  it("runs in yolo mode even outside of the workspace, where the sandbox confines it", async () => {
    expect(await decide("echo x > /tmp/log", ApprovalMode.YOLO)).toBe("allow");
  });

  async function decide(command: string, mode: ApprovalMode): Promise<string> {
    const engine = createPolicyEngine({
      workspace,
      shellConfinement: "none",
      rules,
      mode,
    });
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
    return (await engine.decide(request, AbortSignal.timeout(60_000))).decision;
  }
});
