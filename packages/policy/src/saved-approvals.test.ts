import { spawnSync } from "node:child_process";
import {
  chmod,
  chown,
  mkdir,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { join } from "node:path";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import {
  PolicyFileSchema,
  type PolicyRule,
  PolicyRuleSchema,
  RuleDecision,
} from "@devtool/schema";
import { beforeEach, describe, expect, it } from "vitest";
import { SAVED_APPROVALS_FILE } from "./approval-file.ts";
import type { ApprovalStorage } from "./approval-storage.ts";
import { approvalId, SavedApprovals } from "./saved-approvals.ts";

describe("saved approvals", () => {
  let directory: string;
  let path: string;
  beforeEach(() => {
    directory = temporaryDirectory();
    path = join(directory, SAVED_APPROVALS_FILE);
  });

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
      return (
        await SavedApprovals.open(directory, (text) => notices.push(text))
      ).current();
    };
    expect(await openAnew(() => chmod(path, 0o666))).toEqual([]);
    expect(notices.join()).toContain("may be changed by others");
    if (process.getuid?.() !== 0) return;
    expect(await openAnew(() => chown(path, 65_534, 65_534))).toEqual([]);
    expect(notices.join()).toContain("belongs to another user");
  });

  it("are saved once each and in order, even if many are saved at once", async () => {
    const saved = await SavedApprovals.open(directory, expect.unreachable);
    const names = Array.from(
      { length: 20 },
      (_none, index) => `make t${index}`,
    );
    await Promise.all(
      [...names, ...names].map((name) => saved.save([approval(name)])),
    );
    const again = await SavedApprovals.open(directory, expect.unreachable);
    for (const approvals of [saved, again]) {
      expect(
        (await approvals.current()).map(({ rule }) => rule.commandPrefix[0]),
      ).toEqual(names);
    }
  });

  it("are not lost when two servers share a data directory", async () => {
    const one = await SavedApprovals.open(directory, expect.unreachable);
    const other = await SavedApprovals.open(directory, expect.unreachable);
    await one.save([approval("make a")]);
    await other.save([approval("make b")]);
    expect(
      (await other.current()).map(({ rule }) => rule.commandPrefix[0]),
    ).toEqual(["make a", "make b"]);
  });

  it("remove the temporary files of a crash, and leave those of a save in progress (R3)", async () => {
    const { pid: gone } = spawnSync(process.execPath, ["--version"]);
    const running = `${SAVED_APPROVALS_FILE}.${process.ppid}.0.tmp`;
    for (const name of [`${SAVED_APPROVALS_FILE}.${gone}.0.tmp`, running]) {
      await writeFile(join(directory, name), "[[");
    }
    await SavedApprovals.open(directory, expect.unreachable);
    expect(await readdir(directory)).toEqual([running]);
  });

  it("set a broken file aside with a notice, and start empty", async () => {
    await writeFile(path, "[[rule]]\ndecision =");
    const notices: string[] = [];
    const saved = await SavedApprovals.open(directory, (text) =>
      notices.push(text),
    );
    expect(notices).toEqual([
      expect.stringContaining("the file is now saved-approvals.toml.bak"),
    ]);
    expect(await saved.current()).toEqual([]);
    await saved.save([approval("make")]);
    expect(await readFile(`${path}.bak`, "utf8")).toBe("[[rule]]\ndecision =");
  });

  it("of earlier versions cover only their own words, and a notice names them", async () => {
    const open =
      '[[rule]]\ntool = "run_shell_command"\ncommand_prefix = "go test"\ndecision = "allow"\nworkspace = "/w"\n';
    await writeFile(path, open);
    const notices: string[] = [];
    const saved = await SavedApprovals.open(directory, (text) =>
      notices.push(text),
    );
    expect(notices).toEqual([
      expect.stringContaining("go test no longer allow other words to follow"),
    ]);
    expect(
      (await saved.current()).map(({ rule }) => rule.exactCommand),
    ).toEqual([true]);
    expect(await readFile(path, "utf8")).toBe(open);
    await saved.save([approval("make")]);
    const again = await SavedApprovals.open(directory, expect.unreachable);
    expect(
      (await again.current()).map(({ rule }) => [
        rule.commandPrefix[0],
        rule.exactCommand,
      ]),
    ).toEqual([
      ["go test", true],
      ["make", true],
    ]);
  });

  it("neither follow a link nor write through one", async () => {
    const elsewhere = join(directory, "elsewhere");
    await writeFile(elsewhere, "");
    const saved = await SavedApprovals.open(directory, expect.unreachable);
    await symlink(elsewhere, path);
    await expect(saved.save([approval("make")])).rejects.toThrow(
      "saved-approvals.toml is not a regular file",
    );
    expect(await readFile(elsewhere, "utf8")).toBe("");
  });

  it("report that they cannot be written, and save the next one", async () => {
    const saved = await SavedApprovals.open(directory, expect.unreachable);
    await rm(directory, { recursive: true });
    await expect(saved.save([approval("make a")])).rejects.toThrow(
      "approval cannot be saved: ENOENT",
    );
    await mkdir(directory);
    await saved.save([approval("make b")]);
    expect(
      (await saved.current()).map(({ rule }) => rule.commandPrefix[0]),
    ).toEqual(["make b"]);
  });

  it("no longer count when the user deletes them from the file, and count again when they are back", async () => {
    const saved = await SavedApprovals.open(directory, expect.unreachable);
    await saved.save([approval("make a"), approval("make b")]);
    const both = await readFile(path, "utf8");
    await writeFile(path, both.slice(0, both.lastIndexOf("[[rule]]")));
    expect(await commandsOf(saved)).toEqual(["make a"]);
    await rm(path);
    expect(await commandsOf(saved)).toEqual([]);
    await writeFile(path, both, { mode: 0o600 });
    expect(await commandsOf(saved)).toEqual(["make a", "make b"]);
  });

  it("do not count while the file is broken, with one notice, and the file stays for its editor", async () => {
    const notices: string[] = [];
    const saved = await SavedApprovals.open(directory, (text) =>
      notices.push(text),
    );
    await saved.save([approval("make a")]);
    await writeFile(path, "[[rule]]\ndecision =");
    expect([await commandsOf(saved), await commandsOf(saved)]).toEqual([
      [],
      [],
    ]);
    expect(notices).toEqual([
      expect.stringMatching(
        /^saved approvals are not used: .*saved-approvals.toml. is not valid TOML/,
      ),
    ]);
    expect(await readFile(path, "utf8")).toBe("[[rule]]\ndecision =");
  });

  it("leave a rule of the user that denies as it is", async () => {
    await writeFile(
      path,
      '[[rule]]\ntool = "run_shell_command"\ndecision = "deny"\n',
    );
    const saved = await SavedApprovals.open(directory, expect.unreachable);
    await saved.save([approval("make a")]);
    const again = await SavedApprovals.open(directory, expect.unreachable);
    expect((await again.current()).map(({ decision }) => decision)).toEqual([
      "deny",
      "allow",
    ]);
  });

  it("drop the oldest when there are more than 500, and no rule of the user that denies", async () => {
    await writeFile(
      path,
      '[[rule]]\ntool = "run_shell_command"\ndecision = "deny"\n',
    );
    const saved = await SavedApprovals.open(directory, expect.unreachable);
    await saved.save(
      Array.from({ length: 502 }, (_none, index) => approval(`make t${index}`)),
    );
    const rules = await saved.current();
    expect(rules.map(({ decision }) => decision).slice(0, 2)).toEqual([
      "deny",
      "allow",
    ]);
    expect([rules.length, rules[1]?.rule.commandPrefix]).toEqual([
      501,
      ["make t2"],
    ]);
  });
});

describe("saved approvals that servers share", () => {
  it("count and are withdrawn at all of them at once, also when all change them together", async () => {
    const storage = memoryStorage();
    const [one, other] = [
      new SavedApprovals(storage, expect.unreachable),
      new SavedApprovals(storage, expect.unreachable),
    ];
    await one.save([approval("make a")]);
    expect(await commandsOf(other)).toEqual(["make a"]);
    const names = Array.from(
      { length: 20 },
      (_none, index) => `make t${index}`,
    );
    await Promise.all(
      names.flatMap((name) => [
        one.save([approval(name)]),
        other.save([approval(name)]),
      ]),
    );
    expect((await commandsOf(one)).toSorted()).toEqual(
      ["make a", ...names].toSorted(),
    );
    expect(await other.withdraw(approvalId(approval("make a")))).toMatchObject({
      commandPrefix: ["make a"],
    });
    expect(
      await other.withdraw(approvalId(approval("make a"))),
    ).toBeUndefined();
    expect((await commandsOf(one)).toSorted()).toEqual(names.toSorted());
  });

  it("do not count when a newer release gave them a condition that this one does not know", async () => {
    const storage = memoryStorage();
    const unknown = { no: 99, wireType: 0, data: new Uint8Array([1]) };
    await storage.replace(
      create(PolicyFileSchema, {
        rule: [{ ...approval("make a"), $unknown: [unknown] }],
      }),
      "0",
    );
    const saved = new SavedApprovals(storage, expect.unreachable);
    await saved.save([approval("make b")]);
    expect(await commandsOf(saved)).toEqual(["make b"]);
    const { file } = await storage.read();
    expect(file.rule.map(({ $unknown }) => $unknown)).toEqual([
      [unknown],
      undefined,
    ]);
  });

  it("allow nothing while they cannot be read", async () => {
    const storage = memoryStorage();
    const saved = new SavedApprovals(storage, expect.unreachable);
    await saved.save([approval("make a")]);
    await saved.current();
    storage.read = () => Promise.reject(new Error("no database"));
    await expect(saved.current()).rejects.toThrow("no database");
  });
});

async function commandsOf(
  saved: SavedApprovals,
): Promise<(string | undefined)[]> {
  return (await saved.current()).map(({ rule }) => rule.commandPrefix[0]);
}

/**
 * Keeps approvals as a database does: as bytes, with a number for each change.
 */
function memoryStorage(): ApprovalStorage {
  let data: Uint8Array = new Uint8Array();
  let version = 0;
  return {
    read: async () => ({
      file: fromBinary(PolicyFileSchema, data),
      version: `${version}`,
    }),
    async replace(file, before) {
      if (before !== `${version}`) return false;
      data = toBinary(PolicyFileSchema, file);
      version++;
      return true;
    },
  };
}

function approval(command: string): PolicyRule {
  return create(PolicyRuleSchema, {
    tool: ["run_shell_command"],
    commandPrefix: [command],
    exactCommand: true,
    decision: RuleDecision.ALLOW,
    workspace: "/w",
  });
}
