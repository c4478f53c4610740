import { spawnSync } from "node:child_process";
import { chmod, chown, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
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

  it("are a readable file that only its owner may open", async () => {
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

  it("are set aside if another user may write or owns the file", async () => {
    const notices: string[] = [];
    const openAnew = async (change: () => Promise<void>) => {
      await writeFile(path, '[[rule]]\ntool = "*"\ndecision = "allow"\n');
      await change();
      return (await SavedApprovals.open(directory, (text) => notices.push(text))).rules;
    };
    expect(await openAnew(() => chmod(path, 0o666))).toEqual([]);
    expect(notices.join()).toContain("may be changed by others");
    if (process.getuid?.() !== 0) return;
    expect(await openAnew(() => chown(path, 65_534, 65_534))).toEqual([]);
    expect(notices.join()).toContain("belongs to another user");
  });

  it("are saved once each and in order, even if many are saved at once", async () => {
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

  it("remove the temporary files of a crash, and leave those of a save in progress (R3)", async () => {
    const { pid: gone } = spawnSync(process.execPath, ["--version"]);
    const running = `${SAVED_APPROVALS_FILE}.${process.ppid}.0.tmp`;
    for (const name of [`${SAVED_APPROVALS_FILE}.${gone}.0.tmp`, running]) await writeFile(join(directory, name), "[[");
    await SavedApprovals.open(directory, expect.unreachable);
    expect(await readdir(directory)).toEqual([running]);
  });

  it("set a broken file aside with a notice, and start empty", async () => {
    await writeFile(path, "[[rule]]\ndecision =");
    const notices: string[] = [];
    const saved = await SavedApprovals.open(directory, (text) => notices.push(text));
    expect(notices).toEqual([expect.stringContaining("the file is now saved-approvals.toml.bak")]);
    expect(saved.rules).toEqual([]);
    await saved.save([approval("make")]);
    expect(await readFile(`${path}.bak`, "utf8")).toBe("[[rule]]\ndecision =");
  });

  it("of earlier versions cover only their own words, and a notice names them", async () => {
    const open =
      '[[rule]]\ntool = "run_shell_command"\ncommand_prefix = "go test"\ndecision = "allow"\nworkspace = "/w"\n';
    await writeFile(path, open);
    const notices: string[] = [];
    const saved = await SavedApprovals.open(directory, (text) => notices.push(text));
    expect(notices).toEqual([expect.stringContaining("go test no longer allow other words to follow")]);
    expect(saved.rules.map(({ rule }) => rule.exactCommand)).toEqual([true]);
    expect(await readFile(path, "utf8")).toBe(open);
    await saved.save([approval("make")]);
    const again = await SavedApprovals.open(directory, expect.unreachable);
    expect(again.rules.map(({ rule }) => [rule.commandPrefix[0], rule.exactCommand])).toEqual([
      ["go test", true],
      ["make", true],
    ]);
  });

  it("neither follow a link nor write through one", async () => {
    const elsewhere = join(directory, "elsewhere");
    await writeFile(elsewhere, "");
    const saved = await SavedApprovals.open(directory, expect.unreachable);
    await symlink(elsewhere, path);
    await expect(saved.save([approval("make")])).rejects.toThrow("saved-approvals.toml is not a regular file");
    expect(await readFile(elsewhere, "utf8")).toBe("");
  });

  it("report that they cannot be written, and save the next one", async () => {
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
