import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { fileText, putFile } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { beforeEach, describe, expect, it } from "vitest";
import { findDenial } from "./denial.ts";
import { findSandbox } from "./find-sandbox.ts";
import { readGuardedPlaces } from "./guarded-places.ts";
import type { SandboxedCommand } from "./sandbox.ts";
import { startProcess } from "./start-process.ts";

const PATH = "/usr/local/bin:/usr/bin:/bin";
const { signal } = new AbortController();
const sandbox = await findSandbox("auto", { path: PATH }, signal);
const why = sandbox.confines ? "" : ` (skipped: ${sandbox.notice})`;

describe.skipIf(!sandbox.confines)(
  `a guarded place of a workspace${why}`,
  () => {
    let workspace: string;
    let git: string;
    beforeEach(() => {
      workspace = temporaryDirectory();
      git = join(workspace, ".git");
      execFileSync("git", ["init", "-q"], { cwd: workspace });
    });

    it.each([
      ".opencode/plugins",
      ".helix",
      ".qwen",
      ".devin",
      ".agents",
      ".amazonq",
      ".clinerules/hooks",
      ".github/hooks",
      ".mise",
    ])("is %s, also when it was not there", async (name) => {
      await run(`mkdir -p ${name}; echo evil > ${name}/evil`);
      expect(existsSync(join(workspace, name, "evil"))).toBe(false);
      await expect.poll(() => readdirSync(workspace)).toEqual([".git"]);
    });

    it.each([
      ".husky/pre-commit",
      "lefthook.yml",
      ".pre-commit-config.yaml",
      ".mise.toml",
      "opencode.json",
    ])("is %s when it is there", async (name) => {
      mkdirSync(join(workspace, name, ".."), { recursive: true });
      putFile(workspace, name, "mine");
      await run(
        `echo evil > ${name}; rm -rf ${name}; mv ${name.split("/")[0]} away`,
      );
      expect(fileText(workspace, name)).toBe("mine");
    });

    it("is what the repository's configuration takes hooks and settings from", async () => {
      config("core.hooksPath", "tools/hooks");
      config("include.path", "../shared.gitconfig");
      mkdirSync(join(workspace, "tools/hooks"), { recursive: true });
      putFile(workspace, "shared.gitconfig", "");
      await run(
        "echo evil > tools/hooks/pre-commit; mv tools away; echo evil > shared.gitconfig",
      );
      expect(readdirSync(join(workspace, "tools/hooks"))).toEqual([]);
      expect(fileText(workspace, "shared.gitconfig")).toBe("");
    });

    it("is where a link in it leads, and the link is there again when the command has ended", async () => {
      mkdirSync(join(workspace, "shared"));
      symlinkSync("shared", join(workspace, ".claude"));
      symlinkSync("not-there", join(workspace, ".vscode"));
      await run(
        "echo evil > shared/settings.json; mkdir -p not-there; echo evil > not-there/tasks.json",
      );
      expect(readdirSync(join(workspace, "shared"))).toEqual([]);
      expect(existsSync(join(workspace, "not-there/tasks.json"))).toBe(false);
      await run(
        "rm .claude; mkdir .claude; echo evil > .claude/settings.json; ln -sfn /tmp .vscode",
      );
      expect(readlinkSync(join(workspace, ".claude"))).toBe("shared");
      expect(readlinkSync(join(workspace, ".vscode"))).toBe("not-there");
      expect(fileText(workspace, ".claude.replaced-1/settings.json")).toBe(
        "evil\n",
      );
    });

    it("can be granted as git replaces it: no longer a mount", async () => {
      const path = join(workspace, "lefthook.yml");
      writeFileSync(path, "mine");
      const output = await run("rm lefthook.yml");
      const guarded = await readGuardedPlaces(workspace, "write");
      const access = {
        workspace,
        readable: [],
        writable: [],
        network: "none",
      } as const;
      const denial = findDenial(
        { command: "", output, workingDirectory: workspace, access, guarded },
        sandbox,
      );
      expect(denial).toEqual({ case: "write", path });
      await run("rm lefthook.yml; echo theirs > new; mv new lefthook.yml", [
        path,
      ]);
      expect(readFileSync(path, "utf8")).toBe("theirs\n");
    });

    it("lets git work with .git granted, beside files that keep it at its own configuration", async () => {
      const said = await run(
        "git commit -q --allow-empty -m one && git switch -qc two && git gc -q && ls .git",
        [git],
      );
      expect(said.split("\n")).toEqual(
        expect.arrayContaining(["commondir", "config.worktree", "packed-refs"]),
      );
      await expect.poll(() => readdirSync(git)).not.toContain("commondir");
      const fixed = await run(
        "echo ../evil > .git/commondir; rm -f .git/commondir; mv x .git/commondir",
        [git],
      );
      expect(fixed).toContain("Read-only file system");
      expect(fixed).toContain("Device or resource busy");
    });

    it("leaves git its own configuration when the server is killed, and nothing after the next command", async () => {
      const killed = await findSandbox("bwrap", { path: PATH }, signal);
      const server = spawnServer(
        await confined("touch began; sleep 60", [git], killed),
      );
      while (!existsSync(join(workspace, "began"))) {
        await delay(10, undefined, { signal });
      }
      server.kill("SIGKILL");
      expect(fileText(git, "commondir")).toBe(".\n");
      const common = execFileSync("git", ["rev-parse", "--git-common-dir"], {
        cwd: workspace,
        encoding: "utf8",
      });
      expect(resolve(workspace, common.trim())).toBe(git);
      expect(lstatSync(join(git, "config.worktree")).size).toBe(0);
      await expect
        .poll(() => run("true").then(() => readdirSync(git)))
        .not.toEqual(expect.arrayContaining(["commondir"]));
      expect(readdirSync(git)).not.toContain("config.worktree");
    });

    it("cannot evade the limits of a reading command through /dev/shm", async () => {
      const limits = {
        memoryKib: 1024 * 1024,
        cpuSeconds: 60,
        scratchBytes: 1024 * 1024,
      };
      const access = {
        workspace,
        readable: [],
        writable: [],
        network: "none",
        workspaceAccess: "read",
      } as const;
      const argv = [
        "bash",
        "-c",
        "echo x >/dev/shm/x; echo x >/dev/null && echo null",
      ];
      const request = {
        argv,
        workingDirectory: workspace,
        environment: { PATH },
        shell: "/bin/bash",
        access,
        limits,
      };
      let output = "";
      await using running = startProcess(
        await sandbox.command(request),
        signal,
      );
      for await (const chunk of running.output()) output += chunk;
      expect(output).toMatch(/shm.*Read-only file system\nnull\n$/);
    });

    it("does not hold the server while a large index is read", async () => {
      putFile(git, "index", largeIndex(200_000));
      let turns = 0;
      let counting: NodeJS.Immediate | undefined;
      const count = (): void => {
        turns++;
        counting = setImmediate(count);
      };
      count();
      const { repositories } = await readGuardedPlaces(workspace, "write");
      clearImmediate(counting);
      expect(repositories).toEqual([join(workspace, "src/file-00199999/.git")]);
      expect(turns).toBeGreaterThan(50);
    });

    function config(name: string, value: string): void {
      execFileSync("git", ["config", name, value], { cwd: workspace });
    }

    /**
     * Runs what a server does for a command, in a process that can be killed.
     */
    function spawnServer(command: SandboxedCommand): ChildProcess {
      const script = `
import { startProcess } from ${JSON.stringify(fileURLToPath(new URL("./start-process.ts", import.meta.url)))};
      const { inputs, ...command } = JSON.parse(process.argv[1]);
      startProcess({ ...command, inputs: inputs.map((text) => Buffer.from(text, "base64")) }, AbortSignal.timeout(60_000));
      setInterval(() => undefined, 1000);`;
      const inputs = command.inputs.map((input) =>
        Buffer.from(input).toString("base64"),
      );
      // Nothing lets go of it: so it is with a server that is killed.
      command.hold?.();
      const flags = [
        "--no-warnings",
        "--experimental-transform-types",
        "--conditions=@devtool/source",
      ];
      const argv = [
        ...flags,
        "--input-type=module",
        "-e",
        script,
        JSON.stringify({ ...command, inputs }),
      ];
      return spawn(process.execPath, argv, { stdio: "ignore" });
    }

    function confined(
      script: string,
      writable: readonly string[] = [],
      kind = sandbox,
    ): Promise<SandboxedCommand> {
      return kind.command({
        argv: ["bash", "-c", script],
        workingDirectory: workspace,
        environment: {
          PATH,
          GIT_AUTHOR_NAME: "a",
          GIT_AUTHOR_EMAIL: "a@b",
          GIT_COMMITTER_NAME: "a",
          EMAIL: "a@b",
        },
        shell: "/bin/bash",
        access: { workspace, readable: [], writable, network: "none" },
      });
    }

    async function run(
      script: string,
      writable: readonly string[] = [],
    ): Promise<string> {
      const command = await confined(script, writable);
      let output = "";
      await using running = startProcess(command, signal);
      for await (const chunk of running.output()) output += chunk;
      const { error } = await running.ended;
      if (error) throw error;
      return output;
    }
  },
);

/**
 * An index of version 2 with the given number of files, of which the last is a
 * gitlink.
 */
function largeIndex(count: number): Buffer {
  const header = Buffer.from("DIRC\0\0\0\u0002\0\0\0\0", "latin1");
  header.writeUInt32BE(count, 8);
  const entries = Array.from({ length: count }, (_each, index) => {
    const name = `src/file-${String(index).padStart(8, "0")}`;
    const entry = Buffer.alloc(Math.ceil((62 + name.length + 1) / 8) * 8);
    entry.writeUInt32BE(index === count - 1 ? 0o160000 : 0o100644, 24);
    entry.fill(7, 40, 60);
    entry.write(name, 62);
    return entry;
  });
  return Buffer.concat([header, ...entries, Buffer.alloc(20)]);
}
