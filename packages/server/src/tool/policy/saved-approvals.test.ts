import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { type PolicyRule, PolicyRuleSchema, RuleDecision } from "@devtool/schema";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { SAVED_APPROVALS_FILE, SavedApprovals } from "./saved-approvals.ts";

describe("saved approvals", () => {
  let directory: string;
  let path: string;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), "devtool-saved-"));
    path = join(directory, SAVED_APPROVALS_FILE);
  });
  afterEach(() => rm(directory, { recursive: true }));

  it("are a file that a person can read, and nobody else", async () => {
    const saved = await SavedApprovals.open(directory, expect.unreachable);
    await saved.save([approval("git commit -m 'it'\\''s'")]);
    expect(
      await readFile(path, "utf8"),
    ).toBe(`# Tool calls that were approved for good. Delete a rule to be asked again.

[[rule]]
tool = [ "run_shell_command" ]
command_prefix = [ "git commit -m 'it'\\\\''s'" ]
decision = "allow"
workspace = "/w"
exact_command = true
`);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(await readdir(directory)).toEqual([SAVED_APPROVALS_FILE]);
  });

  it("are kept once each, in the order they came, however many come at once", async () => {
    const saved = await SavedApprovals.open(directory, expect.unreachable);
    const names = Array.from({ length: 20 }, (_none, index) => `make t${index}`);
    await Promise.all([...names, ...names].map((name) => saved.save([approval(name)])));
    const again = await SavedApprovals.open(directory, expect.unreachable);
    for (const { rules } of [saved, again]) expect(rules.map(({ rule }) => rule.commandPrefix[0])).toEqual(names);
  });

  it("are not lost when two servers share a data directory", async () => {
    const one = await SavedApprovals.open(directory, expect.unreachable);
    const other = await SavedApprovals.open(directory, expect.unreachable);
    await one.save([approval("make a")]);
    await other.save([approval("make b")]);
    expect(other.rules.map(({ rule }) => rule.commandPrefix[0])).toEqual(["make a", "make b"]);
  });

  it("set a broken file aside, say so and start anew", async () => {
    await writeFile(path, "[[rule]]\ndecision =");
    const notices: string[] = [];
    const saved = await SavedApprovals.open(directory, (text) => notices.push(text));
    expect(notices).toEqual([expect.stringContaining("the file is now saved-approvals.toml.bak")]);
    expect(saved.rules).toEqual([]);
    await saved.save([approval("make")]);
    expect(await readFile(`${path}.bak`, "utf8")).toBe("[[rule]]\ndecision =");
  });

  it("neither follow a link nor write through one", async () => {
    const elsewhere = join(directory, "elsewhere");
    await writeFile(elsewhere, "");
    const saved = await SavedApprovals.open(directory, expect.unreachable);
    await symlink(elsewhere, path);
    await expect(saved.save([approval("make")])).rejects.toThrow("saved-approvals.toml is no regular file");
    expect(await readFile(elsewhere, "utf8")).toBe("");
  });

  it("say so when they cannot be written, and go on with the next", async () => {
    const saved = await SavedApprovals.open(directory, expect.unreachable);
    await rm(directory, { recursive: true });
    await expect(saved.save([approval("make a")])).rejects.toThrow("approval cannot be saved: ENOENT");
    await mkdir(directory);
    await saved.save([approval("make b")]);
    expect(saved.rules.map(({ rule }) => rule.commandPrefix[0])).toEqual(["make b"]);
  });
});

function approval(command: string): PolicyRule {
  return create(PolicyRuleSchema, {
    tool: ["run_shell_command"],
    commandPrefix: [command],
    exactCommand: true,
    decision: RuleDecision.ALLOW,
    workspace: "/w",
  });
}
