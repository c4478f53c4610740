import { spawnSync } from "node:child_process";
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { putFile } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { beforeEach, describe, expect, it } from "vitest";
import { runCommand } from "../testing/run-command.ts";

const canConfine =
  spawnSync("bwrap", ["--unshare-user", "--ro-bind", "/", "/", "true"])
    .status === 0;

describe("devtool run without a server", () => {
  let home: string;
  let workspace: string;
  let data: string;
  beforeEach(async () => {
    home = temporaryDirectory();
    workspace = join(home, "workspace");
    data = join(home, ".devtool");
    await mkdir(workspace);
    await mkdir(data, { mode: 0o700 });
  });

  it("applies the user's policy", async () => {
    putFile(workspace, ".env", "KEY=secret-of-env");
    await writeFile(
      join(data, "policy.toml"),
      `[[rule]]\ncommand_prefix = "touch"\ndecision = "deny"\n[[rule]]\ntool = "*"\npath = ".env"\ndecision = "deny"\n`,
      { mode: 0o600 },
    );
    const { out } = await devtool([
      "run",
      "--approve",
      "all",
      "--workspace",
      workspace,
      "run touch x\nread .env",
    ]);
    expect(out).toContain('tool "run_shell_command" is denied');
    expect(out).toContain('tool "read_file" is denied');
    expect(out).not.toContain("secret-of-env");
    expect(await readdir(workspace)).toEqual([".env"]);
  });

  it("refuses a workspace that contains the user's data or lies in it", async () => {
    await writeFile(
      join(data, "config.toml"),
      `[[mcp_servers]]\nname = "s"\nhttp = { url = "http://127.0.0.1:1/" }\n`,
      {
        mode: 0o600,
      },
    );
    for (const place of [home, data]) {
      const { code, err, out } = await devtool([
        "run",
        "--workspace",
        place,
        "read .devtool/config.toml",
      ]);
      expect(code, place).toBe(1);
      expect(err).toContain("contains the server's own data, or lies in it");
      expect(out).toBe("");
    }
  });

  it.skipIf(!canConfine)(
    "does not take --approve all for approval to run without the sandbox",
    async () => {
      const outside = join(home, "outside");
      const script = `run touch ${outside}; echo "mount: Operation not permitted"; exit 1`;
      const words = ["run", "--approve", "all", "--workspace", workspace];
      const { err } = await devtool([...words, script]);
      expect(await readdir(home)).not.toContain("outside");
      expect(err).toContain(
        "declined run_shell_command: it would run without the sandbox",
      );
      await devtool([...words, "--approve-without-sandbox", script]);
      expect(await readdir(home)).toContain("outside");
    },
  );

  it("keeps an audit log that says why each call ran", async () => {
    const { err } = await devtool([
      "run",
      "--approve",
      "all",
      "--workspace",
      workspace,
      "write a.txt a",
    ]);
    const [, log = ""] = /, log (.*)\n/.exec(err) ?? [];
    expect(log.startsWith(join(data, "jobs/"))).toBe(true);
    expect((await devtool(["audit", "export", "--log", log])).out).toMatch(
      /"AUDIT_ACTION_APPROVED"/,
    );
    expect(await devtool(["audit", "verify", "--log", log])).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^verified 4 records/),
    });
  });

  it("says that it made its workspace, and makes no directories above it", async () => {
    const made = join(home, "made");
    const words = ["text Hello.", "--workspace"];
    expect((await devtool(["run", ...words, made])).err).toContain(
      `devtool: made the directory ${made} to work in\n`,
    );
    expect(
      await devtool(["run", ...words, join(home, "mistyped/work")]),
    ).toMatchObject({
      code: 1,
      err: expect.stringContaining(
        `"${join(home, "mistyped")}" does not exist`,
      ),
    });
    expect((await readdir(home)).toSorted()).toEqual([
      ".devtool",
      "made",
      "workspace",
    ]);
  });

  it("keeps its tasks in a file of its own, apart from those of a server", async () => {
    await devtool(["run", "--workspace", workspace, "text Hello."]);
    expect(await readdir(data)).toEqual(["jobs"]);
  });

  function devtool(words: readonly string[]) {
    return runCommand(words, { env: { DEVTOOL_DATA: data, NO_COLOR: "1" } });
  }
});
