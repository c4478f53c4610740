import {
  chmod,
  lstat,
  mkdir,
  readdir,
  readFile,
  rm,
  symlink,
  writeFile,
} from "node:fs/promises";
import { join } from "node:path";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { describe, expect, it } from "vitest";
import { runCommand } from "../testing/run-command.ts";
import { applyFixes, findFixes } from "./doctor-fix.ts";

describe("devtool doctor", () => {
  it("runs a program in the sandbox, and says whether that works and what to do", async () => {
    const data = temporaryDirectory();
    const { out } = await runCommand(["doctor", "--data", data]);
    expect(out).toMatch(
      /^· sandbox +(bwrap confines shell commands: a command writes .+|sandbox "bwrap" cannot be used: .+: .+, or choose "none")$/m,
    );
  });

  it("says why a configuration cannot be used", async () => {
    const data = temporaryDirectory();
    await writeFile(join(data, "config.toml"), "ports = 1\n");
    const { code, out } = await runCommand(["doctor", "--data", data]);
    expect(out).toMatch(
      /^✗ configuration +config file ".+" cannot be used: .*ports/m,
    );
    expect(code).toBe(1);
  });
});

describe("devtool doctor --fix", () => {
  it("makes the data directory that is missing", async () => {
    const data = join(temporaryDirectory(), "data");
    const { out } = await runCommand(["doctor", "--fix", "--data", data]);
    expect(out).toContain(`mended: mkdir -m 700 ${data}\n`);
    expect(await modeOf(data)).toBe(0o700);
  });

  it("does what it would do without the flag, and only that: modes, and the file of a server that is gone", async () => {
    const data = temporaryDirectory();
    const [config, token, server] = [
      "config.toml",
      "token.json",
      "server.json",
    ].map((name) => join(data, name));
    const info = { url: "http://127.0.0.1:1", pid: 2 ** 22 + 1 };
    await writeFile(config ?? "", "port = 1\n");
    await writeFile(token ?? "", "{}");
    await writeFile(server ?? "", JSON.stringify(info), { mode: 0o600 });
    await chmod(config ?? "", 0o666);
    await chmod(token ?? "", 0o640);
    await chmod(data, 0o755);
    const would = [
      `chmod 700 ${data}`,
      `chmod 600 ${token}`,
      `chmod go-w ${config}`,
      `rm ${server}, of a server that is gone`,
    ];

    const { code, out } = await runCommand(["doctor", "--data", data]);
    expect(out).toContain(
      `"devtool doctor --fix" would do this:\n  ${would.join("\n  ")}\n`,
    );
    expect(code).toBe(1);
    expect(await modeOf(config ?? "")).toBe(0o666);

    const fixed = await runCommand(["doctor", "--fix", "--data", data]);
    for (const line of would) expect(fixed.out).toContain(`mended: ${line}`);
    expect(fixed.out).toContain("look at what it says");
    expect(fixed.out).toContain("devtool serve --rotate-token");
    expect(await modeOf(data)).toBe(0o700);
    expect(await modeOf(token ?? "")).toBe(0o600);
    expect(await modeOf(config ?? "")).toBe(0o644);
    expect(await readFile(config ?? "", "utf8")).toBe("port = 1\n");
    await expect(lstat(server ?? "")).rejects.toThrow("ENOENT");

    await rm(token ?? "");
    const again = await runCommand(["doctor", "--fix", "--data", data]);
    expect(again.out).toContain("there is nothing to mend\n");
  });

  it("says that nothing is known of who can access files, on a system without permission bits", async () => {
    const data = temporaryDirectory();
    const { out } = await runCommand(["doctor", "--data", data], {
      platform: "win32",
    });
    expect(out).toMatch(/^· data directory +.*shows no permission bits/m);
  });

  it("mends what devtool writes for its user alone: logins at MCP servers, the chat's history, the store", async () => {
    const data = temporaryDirectory();
    const paths = [
      "chat-history.jsonl",
      "tasks.db",
      join("mcp-logins", "0a1b.json"),
    ].map((name) => join(data, name));
    await mkdir(join(data, "mcp-logins"));
    for (const path of paths) {
      await writeFile(path, "");
      await chmod(path, 0o644);
    }
    const { out } = await runCommand(["doctor", "--fix", "--data", data]);
    for (const path of paths) {
      expect(out).toContain(`mended: chmod 600 ${path}\n`);
      expect(await modeOf(path)).toBe(0o600);
    }
  });

  it("leaves the file of a server that starts after it has looked", async () => {
    const data = temporaryDirectory();
    const path = join(data, "server.json");
    const gone = { url: "http://127.0.0.1:1", pid: 2 ** 22 + 1 };
    await writeFile(path, JSON.stringify(gone), { mode: 0o600 });
    const fixes = await findFixes(data);
    const started = JSON.stringify({ ...gone, pid: process.pid });
    await writeFile(path, started);
    const lines = await applyFixes(fixes);
    expect(lines.filter((line) => line.includes("server.json"))).toEqual([
      `not mended (a server has started): rm ${path}, of a server that is gone`,
    ]);
    expect(await readFile(path, "utf8")).toBe(started);
    expect(await readdir(data)).toEqual(["server.json"]);
  });

  it("leaves the file of a server that runs, a damaged one, and what a link leads to", async () => {
    const data = temporaryDirectory();
    const elsewhere = join(temporaryDirectory(), "other");
    await writeFile(elsewhere, "x");
    await chmod(elsewhere, 0o666);
    await symlink(elsewhere, join(data, "config.toml"));
    const server = join(data, "server.json");
    for (const text of [JSON.stringify({ pid: process.pid }), "{"]) {
      await writeFile(server, text, { mode: 0o600 });
      const { out } = await runCommand(["doctor", "--fix", "--data", data]);
      expect(out).toContain("there is nothing to mend\n");
      expect(await readFile(server, "utf8")).toBe(text);
    }
    expect(await modeOf(elsewhere)).toBe(0o666);
  });
});

async function modeOf(path: string): Promise<number> {
  return (await lstat(path)).mode & 0o777;
}
