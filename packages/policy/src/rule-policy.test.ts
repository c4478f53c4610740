import { mkdtemp } from "node:fs/promises";
import { join } from "node:path";
import { create, type JsonObject } from "@bufbuild/protobuf";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import {
  ApprovalMode,
  type ConfirmationRequest,
  ExecuteDetailsSchema,
  FileDiffSchema,
  GenericDetailsSchema,
  McpDetailsSchema,
  MessageSchema,
  OPTION_PROCEED_ALWAYS,
  OPTION_PROCEED_ALWAYS_SERVER,
  OPTION_PROCEED_ALWAYS_TOOL,
  OPTION_PROCEED_ONCE,
  Role,
  type Task,
  TaskSchema,
  ToolCallDetailSchema,
  ToolCallSchema,
  ToolCallStatus,
} from "@devtool/schema";
import { beforeAll, describe, expect, it } from "vitest";
import { parsePolicyFile } from "./parse-policy-file.ts";
import type { PolicyDecision, ToolFacts } from "./policy-engine.ts";
import { createPolicyEngine, type PolicyOptions } from "./rule-policy.ts";
import { SavedApprovals } from "./saved-approvals.ts";
import { createShellAnalyzer } from "./shell/shell-analysis.ts";

const NEW_TASK = create(TaskSchema);
const analyze = createShellAnalyzer();
const { DEFAULT, AUTO_EDIT, PLAN, YOLO } = ApprovalMode;

describe("the modes", () => {
  it("allow a call that changes nothing, in every mode", async () => {
    for (const mode of [DEFAULT, AUTO_EDIT, PLAN, YOLO]) {
      expect(await verdict(read("a.txt"), { mode })).toBe("allow");
    }
  });

  it("ask before every change by default", async () => {
    for (const next of [
      shell("make"),
      edit("a.txt"),
      mcp("notes", "add"),
      other("web_fetch"),
    ]) {
      expect(await decide(next, {})).toMatchObject({
        decision: "ask",
        rule: expect.not.stringContaining("builtin"),
      });
    }
  });

  it("allow changes of files in the workspace in auto_edit, and ask about other changes", async () => {
    expect(await verdict(edit("src/a.ts"), { mode: AUTO_EDIT })).toBe("allow");
    for (const next of [
      shell("make"),
      mcp("notes", "add"),
      other("web_fetch"),
      edit("../a.ts"),
    ]) {
      expect(await verdict(next, { mode: AUTO_EDIT })).toBe("ask");
    }
  });

  it("ask about a change of a file that a rule keeps from being read, because the change shows it", async () => {
    for (const decision of ["ask", "deny"]) {
      const rules = user(
        `tool = "read_file"\npath = ".env"\ndecision = "${decision}"`,
      );
      for (const mode of [AUTO_EDIT, YOLO]) {
        expect(await decide(edit(".env"), { mode, rules })).toMatchObject({
          decision: "ask",
          rule: "builtin:kept-back",
        });
      }
      expect(await verdict(edit("a.ts"), { mode: AUTO_EDIT, rules })).toBe(
        "allow",
      );
    }
  });

  it("deny every change in plan mode, whatever was answered or saved", async () => {
    const task = answered(edit("a.txt"), OPTION_PROCEED_ALWAYS);
    for (const next of [
      shell("ls"),
      edit("a.txt"),
      mcp("notes", "add"),
      other("web_fetch"),
    ]) {
      expect(
        await verdict(next, { mode: PLAN, shellConfinement: "sandbox" }, task),
      ).toBe("deny");
    }
  });

  it("allow in yolo mode what no rule asks about or denies", async () => {
    const rules = [
      ...user('command_prefix = "git push"\ndecision = "ask"'),
      ...user('tool = "web_fetch"\ndecision = "deny"'),
    ];
    const decisionOf = (next: Call) => verdict(next, { mode: YOLO, rules });
    expect(await decisionOf(shell("make > log.txt"))).toBe("allow");
    expect(await decisionOf(edit("a.txt"))).toBe("allow");
    expect(await decisionOf(mcp("notes", "add"))).toBe("allow");
    expect(await decisionOf(shell("make && git push"))).toBe("ask");
    expect(await decisionOf(other("web_fetch"))).toBe("deny");
  });

  it("ask in yolo mode if rules about commands cannot be checked", async () => {
    const rules = user('command_prefix = "rm"\ndecision = "deny"');
    const decisionOf = (command: string) =>
      verdict(shell(command), { mode: YOLO, rules });
    expect(await decisionOf("make $TARGET")).toBe("allow");
    expect(await decisionOf("$(echo rm) -r .")).toBe("ask");
    expect(await decisionOf("X=rm; $X -r .")).toBe("ask");
    expect(await decisionOf("/bin/rm -r .")).toBe("deny");
    expect(await decisionOf("sudo rm -r .")).toBe("deny");
    expect(await decisionOf("bash -c 'r\"m\" -r .'")).toBe("deny");
    expect(await decisionOf("echo $(rm -r .)")).toBe("deny");
  });
});

describe("guarded files", () => {
  const paths = [
    ".git/hooks/pre-commit",
    ".devtool/policy.toml",
    ".gemini/settings.json",
    ".vscode/tasks.json",
    ".mcp.json",
    ".opencode/plugin/a.ts",
    ".helix/languages.toml",
    "rust-toolchain.toml",
    "lefthook.toml",
    "app.sublime-project",
    "gradle/wrapper/gradle-wrapper.properties",
    "sub/.Rprofile",
    "QWEN.md",
    // S4
    ".vibe/config.toml",
    ".goose/config.yaml",
    "mcp.json",
    "flake.nix",
    "devenv.nix",
    "src/sitecustomize.py",
    "usercustomize.py",
    ".psqlrc",
    ".sqliterc",
    ".screenrc",
    ".Renviron",
    ".projectile",
    "tools/bazel",
    "gradle.properties",
  ];
  it.each([
    ...paths,
    ".github/workflows/ci.yml",
    "sub/.bashrc",
    ".GIT/config",
    "AGENTS.md",
  ])("%s always asks", async (path) => {
    const rules = user('tool = "*"\ndecision = "allow"');
    const task = answered(edit("a.txt"), OPTION_PROCEED_ALWAYS);
    for (const mode of [DEFAULT, AUTO_EDIT, YOLO]) {
      expect(await decide(edit(path), { mode, rules }, task)).toMatchObject({
        decision: "ask",
        rule: "builtin:guarded-path",
      });
    }
  });

  it("ask in every mode if a call that is not an edit changes one, and rules about paths apply to it", async () => {
    const restore = (...changes: string[]): Call => ({
      ...other("restore_checkpoint"),
      changes,
    });
    const task = answered(restore(".mcp.json"), OPTION_PROCEED_ALWAYS_TOOL);
    const rules = user('tool = "*"\ndecision = "allow"');
    for (const mode of [DEFAULT, AUTO_EDIT, YOLO]) {
      expect(
        await decide(restore("a.txt", ".mcp.json"), { mode, rules }, task),
      ).toMatchObject({
        decision: "ask",
        rule: "builtin:guarded-path",
      });
    }
    expect(await verdict(restore("a.txt"), { mode: YOLO })).toBe("allow");
    expect(await verdict(restore("a.txt"), {}, task)).toBe("allow");
    const denied = user('path = "keys/**"\ndecision = "deny"');
    expect(
      await verdict(restore("a.txt", "keys/a"), { mode: YOLO, rules: denied }),
    ).toBe("deny");
  });

  it("change without a question if a rule or an answer names the file", async () => {
    const rules = user(
      'tool = "write_file"\npath = ".vscode/**"\ndecision = "allow"',
    );
    expect(await verdict(edit(".vscode/settings.json"), { rules })).toBe(
      "allow",
    );
    const task = answered(edit(".mcp.json"), OPTION_PROCEED_ALWAYS);
    expect(await verdict(edit(".mcp.json"), {}, task)).toBe("allow");
    expect(await verdict(edit(".vscode/settings.json"), {}, task)).toBe("ask");
  });

  it("are recognized behind a detour in the path", async () => {
    expect(await verdict(edit("src/../.git/config"), { mode: AUTO_EDIT })).toBe(
      "ask",
    );
  });
});

describe("the order of rules", () => {
  it("is operator before user, then priority, then the strictest", async () => {
    const decisionOf = (...rules: PolicyOptions["rules"] & object) =>
      verdict(other("deploy"), { rules });
    const rule = (decision: string, priority = 0) =>
      `tool = "deploy"\ndecision = "${decision}"\npriority = ${priority}`;
    expect(
      await decisionOf(...user(rule("allow", 999)), ...operator(rule("deny"))),
    ).toBe("deny");
    expect(
      await decisionOf(...user(rule("deny", 999)), ...operator(rule("allow"))),
    ).toBe("allow");
    expect(
      await decisionOf(...user(rule("allow", 2)), ...user(rule("deny", 1))),
    ).toBe("allow");
    expect(await decisionOf(...user(rule("allow")), ...user(rule("ask")))).toBe(
      "ask",
    );
    expect(await decisionOf(...user(rule("ask")), ...user(rule("deny")))).toBe(
      "deny",
    );
  });

  it("gives the label of the deciding rule, and its message for the model", async () => {
    const rules = user(
      'name = "no deploys"\ntool = "deploy"\ndecision = "deny"\ndeny_message = "deploy by hand"',
    );
    expect(await decide(other("deploy"), { rules })).toEqual({
      decision: "deny",
      rule: "user.toml:no deploys",
      reason: "deploy by hand",
    });
  });

  it.each([
    ['tool = "deploy"', other("deploy")],
    ['command_prefix = "rm"', shell("rm a")],
  ])(
    "F20: gives the rule as the reason of %s without a message",
    async (rule, call) => {
      const rules = user(`${rule}\ndecision = "deny"`);
      expect(await decide(call, { rules })).toMatchObject({
        decision: "deny",
        reason: "by user.toml:1",
      });
    },
  );

  it("asks an operator's question each time, while answers lift a user's", async () => {
    const ask = 'tool = "deploy"\ndecision = "ask"';
    const task = answered(
      other("deploy"),
      OPTION_PROCEED_ALWAYS_TOOL,
      "user.toml:1",
    );
    expect(await verdict(other("deploy"), { rules: user(ask) }, task)).toBe(
      "allow",
    );
    expect(await verdict(other("deploy"), { rules: operator(ask) }, task)).toBe(
      "ask",
    );
  });
});

describe("the conditions of a rule", () => {
  it("take the server of a tool from its registration, not from its name", async () => {
    const rules = user('tool = "mcp__a__*"\ndecision = "allow"');
    expect(await verdict(mcp("a", "x"), { rules })).toBe("allow");
    expect(await verdict(mcp("a__b", "x"), { rules })).toBe("ask");
    const byServer = user('mcp_server = "a"\ndecision = "allow"');
    expect(await verdict(mcp("a", "x"), { rules: byServer })).toBe("allow");
    expect(await verdict(other("mcp__a__x"), { rules: byServer })).toBe("ask");
  });

  it("match annotations of the tool", async () => {
    const rules = user(
      'mcp_server = "*"\nannotations = { readOnlyHint = true }\ndecision = "allow"',
    );
    expect(
      await verdict(mcp("a", "x", { annotations: { readOnlyHint: true } }), {
        rules,
      }),
    ).toBe("allow");
    expect(await verdict(mcp("a", "x"), { rules })).toBe("ask");
  });

  it("match patterns in the arguments with sorted keys", async () => {
    const rules = user(
      `tool = "deploy"\nargs_pattern = '"a":1,"to":"test"'\ndecision = "allow"`,
    );
    expect(
      await verdict(other("deploy", { to: "test", a: 1 }), { rules }),
    ).toBe("allow");
    expect(
      await verdict(other("deploy", { to: "live", a: 1 }), { rules }),
    ).toBe("ask");
  });

  it("ask if the arguments are too long to search, instead of passing a denial", async () => {
    const long = other("deploy", { to: "x".repeat(70_000) });
    const deny = user(
      'tool = "deploy"\nargs_pattern = "live"\ndecision = "deny"',
    );
    expect(await verdict(long, { mode: YOLO, rules: deny })).toBe("ask");
    const allow = user(
      'tool = "deploy"\nargs_pattern = "x"\ndecision = "allow"',
    );
    expect(await verdict(long, { rules: allow })).toBe("ask");
  });

  it("apply in plan mode only if the rule names the mode", async () => {
    const every = user('tool = "deploy"\ndecision = "allow"');
    expect(await verdict(other("deploy"), { mode: PLAN, rules: every })).toBe(
      "deny",
    );
    const named = user('tool = "deploy"\nmodes = ["plan"]\ndecision = "allow"');
    expect(await verdict(other("deploy"), { mode: PLAN, rules: named })).toBe(
      "allow",
    );
    expect(await verdict(other("deploy"), { rules: named })).toBe("ask");
  });

  it("B8: hold for the files that they name with brackets", async () => {
    const rules = user(
      'path = ["app/[id]/key.pem", "[slug]/**"]\ndecision = "deny"',
    );
    for (const file of ["app/[id]/key.pem", "app/i/key.pem", "[slug]/a/b"]) {
      expect(await decide(read(file), { rules }), file).toMatchObject({
        decision: "deny",
      });
    }
  });

  it("deny a file by any spelling of its path", async () => {
    const rules = user('path = ["**/.env", ".env"]\ndecision = "deny"');
    for (const path of [
      ".env",
      "./.env",
      "/w/.env",
      "src/../.env",
      "sub/.env",
      ".ENV",
      "sub/.e\u200dnv",
    ]) {
      expect(await decide(read(path), { rules }), path).toMatchObject({
        decision: "deny",
      });
    }
    expect(await verdict(shell("cat .EN?"), { rules })).toBe("deny");
    const capitals = user(
      'path = ["Secrets/**", "!src/**"]\ndecision = "deny"',
    );
    for (const path of ["secrets/a", "SECRETS/a", "Secrets/a", "SRC/a"]) {
      expect(await verdict(read(path), { rules: capitals }), path).toBe("deny");
    }
    expect(await verdict(read("src/a"), { rules: capitals })).toBe("allow");
  });

  it("allow a file by the letters of its path alone", async () => {
    const rules = user(
      'tool = "write_file"\npath = "out/**"\ndecision = "allow"',
    );
    expect(await verdict(edit("out/a"), { rules })).toBe("allow");
    expect(await verdict(edit("OUT/a"), { rules })).toBe("ask");
  });
});

describe("commands", () => {
  const rules = user(
    'command_prefix = ["npm test", "git add"]\ndecision = "allow"',
  );
  const decisionOf = async (
    command: string,
    options: Partial<PolicyOptions> = {},
    args: JsonObject = {},
  ) => verdict(shell(command, args), { rules, ...options });

  it("run without a question if a rule names them by whole words", async () => {
    expect(await decisionOf("npm test")).toBe("allow");
    expect(await decisionOf("npm test -- --watch=no")).toBe("allow");
    expect(await decisionOf("npm test && git add src")).toBe("allow");
    expect(await decisionOf("npm testing")).toBe("ask");
    expect(await decisionOf("npm 'test x'")).toBe("ask");
    expect(await decisionOf("npm test && rm -r src")).toBe("ask");
  });

  it("run without a question if they only read and are in a sandbox", async () => {
    for (const command of [
      "git status",
      "ls -la | head -5",
      "grep -rn foo src && wc -l src/a.ts",
    ]) {
      expect(await decisionOf(command)).toBe("ask");
      expect(await decisionOf(command, { shellConfinement: "sandbox" })).toBe(
        "allow",
      );
    }
  });

  it("ask in the background even if they only read", async () => {
    expect(
      await decisionOf(
        "ls -la",
        { shellConfinement: "sandbox" },
        { background: true },
      ),
    ).toBe("ask");
    expect(
      await decisionOf(
        "ls -la",
        { shellConfinement: "sandbox" },
        { background: false },
      ),
    ).toBe("allow");
  });

  it("ask if git would read the configuration of a subdirectory", async () => {
    expect(
      await decisionOf(
        "git status",
        { shellConfinement: "sandbox" },
        { directory: "." },
      ),
    ).toBe("allow");
    expect(
      await decisionOf(
        "git status",
        { shellConfinement: "sandbox" },
        { directory: "sub" },
      ),
    ).toBe("ask");
  });

  it("need a sandbox for a rule that allows any command", async () => {
    const every = user('tool = "*"\ndecision = "allow"');
    expect(await decisionOf("make", { rules: every })).toBe("ask");
    expect(
      await decisionOf("make", { rules: every, shellConfinement: "sandbox" }),
    ).toBe("allow");
    expect(
      await decisionOf("make $X", {
        rules: every,
        shellConfinement: "sandbox",
      }),
    ).toBe("ask");
  });

  it("match a pattern as a whole", async () => {
    const named = user(
      "command_regex = 'make( [a-z]+)*'\ndecision = \"allow\"",
    );
    expect(await decisionOf("make all", { rules: named })).toBe("allow");
    expect(await decisionOf("make all; rm x", { rules: named })).toBe("ask");
    expect(await decisionOf("make 'all; rm x'", { rules: named })).toBe("ask");
    const either = user("command_regex = 'make|rm'\ndecision = \"allow\"");
    expect(await decisionOf("make", { rules: either })).toBe("allow");
    expect(await decisionOf("make x", { rules: either })).toBe("ask");
    expect(await decisionOf("x rm", { rules: either })).toBe("ask");
  });

  it("redirect only if a rule allows it, within the workspace and not to guarded files", async () => {
    expect(await decisionOf("npm test > log.txt")).toBe("ask");
    const redirecting = user(
      'command_prefix = "npm test"\nallow_redirection = true\ndecision = "allow"',
    );
    const decideLine = (command: string) =>
      decisionOf(command, { rules: redirecting });
    expect(await decideLine("npm test > log.txt 2>&1")).toBe("allow");
    for (const target of [
      "../log.txt",
      "/etc/passwd",
      ".git/hooks/pre-commit",
      "~/.bashrc",
      "$HOME/x",
    ]) {
      expect(await decideLine(`npm test > ${target}`), target).toBe("ask");
    }
  });

  it("are denied if they mention a file that a rule denies", async () => {
    const denying = user('path = [".env", "keys/**"]\ndecision = "deny"');
    const decideLine = (command: string, args: JsonObject = {}) =>
      decisionOf(
        command,
        { rules: denying, shellConfinement: "sandbox" },
        args,
      );
    for (const command of [
      "cat .env",
      "cat src/../.env",
      "cat /w/.env",
      "head -5 keys/a.pem",
      "rg x --ignore-file=.env",
    ]) {
      expect(await decideLine(command), command).toBe("deny");
    }
    expect(await decideLine("cat ../.env", { directory: "sub" })).toBe("deny");
    expect(await decideLine("cat env")).toBe("allow");
  });

  it("are denied, or ask in yolo mode, behind options and within other programs (L2)", async () => {
    const rules = user(
      'command_prefix = ["git push", "rm"]\ndecision = "deny"',
    );
    const decideLine = (command: string) =>
      decisionOf(command, { rules, mode: YOLO, shellConfinement: "sandbox" });
    for (const command of [
      "git -C . push",
      "git -C. push",
      "git -c a=b push",
      "git --no-pager push origin",
      "git --git-dir .git --work-tree=. -p push",
      "/usr/bin/git -C . push",
      "git -c alias.q='!rm zz' q",
      "git -c alias.q=push q",
      "git --config-env alias.q=X push",
      `awk 'BEGIN{system("rm zz")}'`,
      `awk 'BEGIN{"rm zz" | getline x}'`,
      `awk 'BEGIN{system("rm zz'`,
      "make --eval='x:;rm zz' x",
      "make SHELL='rm zz'",
    ]) {
      expect(await decideLine(command), command).toBe("deny");
    }
    for (const command of [
      "awk -f program.awk",
      "git -c core.pager='x y' log",
      "git --exec-path=evil log",
      "make -f other",
    ]) {
      expect(await decideLine(command), command).toBe("ask");
    }
    for (const command of [
      "git -C sub status",
      "git -c user.name=a commit",
      "awk '{print $1}' a",
      "make -j4 all CC=gcc",
    ]) {
      expect(await decideLine(command), command).toBe("allow");
    }
  });

  it("are denied, or ask in yolo mode, if a redirection or a pattern leads to a file that a rule denies (L2)", async () => {
    const rules = user('path = ["**/.env", "keys/**"]\ndecision = "deny"');
    for (const mode of [DEFAULT, YOLO]) {
      const decideLine = (command: string) =>
        decisionOf(command, { rules, mode, shellConfinement: "sandbox" });
      for (const command of [
        "cat < .env",
        "< .env",
        "cat a <sub/.env | head",
        "cat ./.en?",
        "cat .e*",
        "cat sub/.{env,x}",
      ]) {
        expect(await decideLine(command), command).toBe("deny");
      }
      for (const command of [
        "cat $X",
        "cat key?/*",
        "cat `echo .env`",
        'cat $(< .e"n"v)',
      ]) {
        expect(["ask", "deny"], command).toContain(await decideLine(command));
      }
      expect(await decideLine("cat < env; ls"), mode.toString()).toBe(
        mode === YOLO ? "allow" : "ask",
      );
    }
  });

  it("give the reason why they ask", async () => {
    const decision = await decide(shell("npm test $(id)"), { rules });
    expect(decision).toEqual({
      decision: "ask",
      rule: "",
      reason: 'the command "$(id)" is expanded',
    });
  });
});

describe("the agents that a repository brings", () => {
  const call: Call = {
    ...other("agent_reviewer"),
    facts: { definitionHash: "aa", isNamesake: true },
  };

  it.each([
    ['tool = "agent_reviewer"\ndecision = "allow"', "ask"],
    ['tool = "agent_reviewer"\ndecision = "deny"', "deny"],
    ['tool = "*"\ndecision = "allow"', "allow"],
  ])(
    "are not allowed by name, which is the operator's: %j",
    async (rule, expected) => {
      for (const rules of [user(rule), operator(rule)]) {
        expect(await verdict(call, { rules })).toBe(expected);
      }
    },
  );
});

describe("the answers of a task", () => {
  it("count once if given once (TOOL-4)", async () => {
    expect(
      await verdict(edit("a"), {}, answered(edit("a"), OPTION_PROCEED_ONCE)),
    ).toBe("ask");
  });

  it("proceed_always covers the same command with any description, and no other command (TOOL-4)", async () => {
    const task = answered(
      shell("make $X", { description: "Build" }),
      OPTION_PROCEED_ALWAYS,
    );
    const decisionOf = (command: string, args: JsonObject = {}) =>
      verdict(shell(command, args), {}, task);
    expect(await decisionOf("make $X", { description: "Build again" })).toBe(
      "allow",
    );
    expect(await decisionOf("make $X; rm -r .")).toBe("ask");
    expect(await decisionOf("make $X", { directory: "other" })).toBe("ask");
  });

  it("proceed_always covers every edit by the same tool, and none by another (TOOL-4)", async () => {
    const task = answered(edit("a"), OPTION_PROCEED_ALWAYS);
    expect(await decide(edit("b"), {}, task)).toMatchObject({
      decision: "allow",
      rule: "answer:c1",
    });
    expect(await verdict({ ...edit("a"), toolName: "replace" }, {}, task)).toBe(
      "ask",
    );
  });

  it("proceed_always_tool covers the tool with any arguments, but never the shell (TOOL-4)", async () => {
    const task = answered(other("deploy"), OPTION_PROCEED_ALWAYS_TOOL);
    expect(await verdict(other("deploy", { to: "elsewhere" }), {}, task)).toBe(
      "allow",
    );
    expect(await verdict(other("destroy"), {}, task)).toBe("ask");
    expect(
      await verdict(
        shell("ls"),
        {},
        answered(shell("ls"), OPTION_PROCEED_ALWAYS_TOOL),
      ),
    ).toBe("ask");
  });

  it("bind to the definition of an MCP tool: a changed one asks again", async () => {
    const task = answered(
      mcp("notes", "add", { definitionHash: "aa" }),
      OPTION_PROCEED_ALWAYS_TOOL,
    );
    const decisionOf = async (definitionHash: string) =>
      (await decide(mcp("notes", "add", { definitionHash }), {}, task))
        .decision;
    expect(await decisionOf("aa")).toBe("allow");
    expect(await decisionOf("bb")).toBe("ask");
  });

  it("proceed_always_server covers the tools of the server until one changes", async () => {
    const task = answered(
      mcp("notes", "add", { definitionHash: "aa" }),
      OPTION_PROCEED_ALWAYS_SERVER,
    );
    const decisionOf = (next: Call) => verdict(next, {}, task);
    expect(
      await decisionOf(mcp("notes", "list", { definitionHash: "cc" })),
    ).toBe("allow");
    expect(
      await decisionOf(mcp("notes", "add", { definitionHash: "aa" })),
    ).toBe("allow");
    expect(
      await decisionOf(mcp("notes", "add", { definitionHash: "bb" })),
    ).toBe("ask");
    expect(await decisionOf(mcp("mail", "add", { definitionHash: "aa" }))).toBe(
      "ask",
    );
  });

  it("count only for a call of the task, and only if the user gave them", async () => {
    const { history } = answered(edit("a"), OPTION_PROCEED_ALWAYS);
    const withoutCall = create(TaskSchema, {
      history: history.filter(({ role }) => role === Role.USER),
    });
    expect(await verdict(edit("a"), {}, withoutCall)).toBe("ask");
    const byAgent = create(TaskSchema, {
      history: history.map((message) => ({ ...message, role: Role.AGENT })),
    });
    expect(await verdict(edit("a"), {}, byAgent)).toBe("ask");
  });
});

describe("approvals for good", () => {
  let directory: string;
  beforeAll(() => {
    directory = temporaryDirectory();
  });

  it("cover exactly what was approved, also after a restart", async () => {
    const approved = [
      shell("make -j 4 all"),
      shell("npm run build -- x"),
      edit("a [1].txt"),
      mcp("notes", "add", { definitionHash: "aa" }),
    ];
    const saved = await SavedApprovals.open(directory, expect.unreachable);
    const first = createPolicyEngine({
      mode: DEFAULT,
      workspace: "/w",
      shellConfinement: "sandbox",
      analyze,
      saved,
    });
    for (const next of approved) {
      await first.save?.(
        policyRequest(next, NEW_TASK),
        AbortSignal.timeout(60_000),
      );
    }
    const again = await SavedApprovals.open(directory, expect.unreachable);
    const decisionOf = async (next: Call, workspace = "/w") =>
      (
        await decide(next, {
          saved: again,
          workspace,
          shellConfinement: "sandbox",
        })
      ).decision;
    for (const next of approved) {
      expect(await decisionOf(next), next.description).toBe("allow");
    }
    for (const next of approved) {
      expect(await decisionOf(next, "/other"), next.description).toBe("ask");
    }
    expect(await decisionOf(shell("make -j 4 all install"))).toBe("ask");
    expect(await decisionOf(shell("npm run build -- y"))).toBe("ask");
    expect(await decisionOf(shell("npm run deploy"))).toBe("ask");
    expect(await decisionOf(shell("make -j 4 all", { directory: "sub" }))).toBe(
      "ask",
    );
    expect(await decisionOf(edit("a 1.txt"))).toBe("ask");
    expect(
      await decisionOf(mcp("notes", "add", { definitionHash: "bb" })),
    ).toBe("ask");
  });

  it("do not cover further flags, which can run another program (H4)", async () => {
    const saved = await SavedApprovals.open(
      await mkdtemp(join(directory, "flags-")),
      expect.unreachable,
    );
    const engine = createPolicyEngine({
      mode: DEFAULT,
      workspace: "/w",
      shellConfinement: "sandbox",
      analyze,
      saved,
    });
    const decisionOf = async (command: string) =>
      (await decide(shell(command), { saved, shellConfinement: "sandbox" }))
        .decision;
    const attacks: readonly (readonly [string, string])[] = [
      ["go test", "go test -exec 'sh -c id' ./..."],
      ["go vet", "go vet -vettool ./evil"],
      ["go build", "go build -toolexec ./evil"],
      ["cargo test", "cargo test --config evil.toml"],
      ["npm test", "npm test --prefix evil"],
      ["npm run build", "npm run build --script-shell ./evil"],
      ["pnpm run build", "pnpm run build --dir evil"],
      ["yarn test", "yarn test --cwd evil"],
      ["git commit", "git commit --template evil"],
      ["git add", "git add --pathspec-from-file evil"],
    ];
    for (const [approved, attack] of attacks) {
      await engine.save?.(
        policyRequest(shell(approved), NEW_TASK),
        AbortSignal.timeout(60_000),
      );
      expect(
        [await decisionOf(approved), await decisionOf(attack)],
        attack,
      ).toEqual(["allow", "ask"]);
    }
  });

  it("are offered with what they would cover, unless they cannot be given", async () => {
    const saved = await SavedApprovals.open(
      await mkdtemp(join(directory, "empty-")),
      expect.unreachable,
    );
    const offered = async (
      next: Call,
      rules = user('tool = "x"\ndecision = "ask"'),
    ) => (await decide(next, { saved, rules })).saves;
    expect(await offered(shell("npm run build -- x && make 'a b'"))).toBe(
      "npm run build -- x, make 'a b'",
    );
    expect(await offered(edit("a [1].txt"))).toBe("write_file on a [1].txt");
    expect(await offered(mcp("notes", "add"))).toBe(
      "mcp__notes__add of MCP server notes",
    );
    for (const command of [
      "make $X",
      "make > log",
      "(make)",
      "sudo make",
      "make &",
    ]) {
      expect(await offered(shell(command)), command).toBeUndefined();
    }
    expect(await offered(read("a"))).toBeUndefined();
    expect(
      await offered(
        other("deploy"),
        operator('tool = "deploy"\ndecision = "ask"'),
      ),
    ).toBeUndefined();
    expect((await decide(shell("make"), {})).saves).toBeUndefined();
  });

  it("cannot be given for a command that is not fully understood", async () => {
    const saved = await SavedApprovals.open(directory, expect.unreachable);
    const engine = createPolicyEngine({
      mode: DEFAULT,
      workspace: "/w",
      shellConfinement: "none",
      analyze,
      saved,
    });
    const kept = engine.save?.(
      policyRequest(shell("make $X"), NEW_TASK),
      AbortSignal.timeout(60_000),
    );
    await expect(kept).rejects.toThrow(
      "approval cannot be saved: approve the call for this session",
    );
  });
});

interface Call {
  readonly toolName: string;
  readonly description: string;
  readonly args: JsonObject;
  readonly details: ConfirmationRequest["details"] | undefined;
  readonly facts?: ToolFacts;
  readonly changes?: readonly string[];
}

function shell(command: string, args: JsonObject = {}): Call {
  const details = {
    case: "executeDetails" as const,
    value: create(ExecuteDetailsSchema, { command }),
  };
  return {
    toolName: "run_shell_command",
    description: command,
    args: { command, ...args },
    details,
  };
}

function edit(path: string): Call {
  const details = {
    case: "fileEditDetails" as const,
    value: create(FileDiffSchema, { filePath: path }),
  };
  return {
    toolName: "write_file",
    description: path,
    args: { file_path: path },
    details,
  };
}

const HASHES = { definitionHash: "aa", mcpServerHash: "5e" };

function mcp(mcpServer: string, tool: string, facts: ToolFacts = {}): Call {
  const details = {
    case: "mcpDetails" as const,
    value: create(McpDetailsSchema, { serverName: mcpServer, toolName: tool }),
  };
  const toolName = `mcp__${mcpServer}__${tool}`;
  return {
    toolName,
    description: toolName,
    args: {},
    details,
    facts: { ...HASHES, ...facts, mcpServer },
  };
}

function other(toolName: string, args: JsonObject = {}): Call {
  return {
    toolName,
    description: toolName,
    args,
    details: { case: "genericDetails", value: create(GenericDetailsSchema) },
  };
}

function read(path: string): Call {
  return {
    toolName: "read_file",
    description: path,
    args: { file_path: path },
    details: undefined,
  };
}

function policyRequest(
  { toolName, args, details, facts, changes }: Call,
  task: Task,
) {
  const call = create(ToolCallSchema, {
    toolCallId: "c2",
    toolName,
    inputParameters: args,
  });
  return { call, details, facts, changes, task };
}

async function decide(
  next: Call,
  options: Partial<PolicyOptions>,
  task = NEW_TASK,
): Promise<PolicyDecision> {
  const engine = createPolicyEngine({
    mode: DEFAULT,
    workspace: "/w",
    shellConfinement: "none",
    analyze,
    ...options,
  });
  return engine.decide(policyRequest(next, task), AbortSignal.timeout(60_000));
}

/** Returns what is decided about a call, whichever rule does. */
async function verdict(
  ...about: Parameters<typeof decide>
): Promise<PolicyDecision["decision"]> {
  return (await decide(...about)).decision;
}

function user(rule: string) {
  return parsePolicyFile(`[[rule]]\n${rule}`, {
    tier: "user",
    file: "user.toml",
  });
}

function operator(rule: string) {
  return parsePolicyFile(`[[rule]]\n${rule}`, {
    tier: "operator",
    file: "operator.toml",
  });
}

/**
 * Returns a task in which the agent made a call and the user selected an option
 * for it.
 */
function answered(
  { toolName, args, facts }: Call,
  selectedOptionId: string,
  rule = "",
): Task {
  const value = create(ToolCallSchema, {
    ...{ toolCallId: "c1", toolName, inputParameters: args },
    status: ToolCallStatus.SUCCEEDED,
  });
  const mark =
    facts?.mcpServer === undefined
      ? rule
      : `mcp:${facts.mcpServer}:${facts.definitionHash ?? ""}:${facts.mcpServerHash ?? ""}`;
  const toolCallDetail = create(ToolCallDetailSchema, { rule: mark });
  const confirmation = { toolCallId: "c1", selectedOptionId };
  return create(TaskSchema, {
    history: [
      create(MessageSchema, {
        role: Role.AGENT,
        parts: [{ content: { case: "toolCall", value }, toolCallDetail }],
      }),
      create(MessageSchema, {
        role: Role.USER,
        parts: [{ content: { case: "confirmation", value: confirmation } }],
      }),
    ],
  });
}
