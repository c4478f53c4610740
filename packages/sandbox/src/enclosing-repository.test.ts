import { execFileSync, spawnSync } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { fileText, putFile } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { beforeEach, describe, expect, it } from "vitest";
import { findSandbox } from "./find-sandbox.ts";
import { readGuardedPlaces } from "./guarded-places.ts";
import { startProcess } from "./start-process.ts";

const PATH = "/usr/local/bin:/usr/bin:/bin";
const SHA = "1234567890123456789012345678901234567890";
const { signal } = new AbortController();
const sandbox = await findSandbox("auto", { path: PATH }, signal);
const skipReason = sandbox.confines ? "" : ` (skipped: ${sandbox.notice})`;

/**
 * The repository's user runs git in it, outside of the sandbox, after a command
 * has run in one of its subdirectories.
 */
describe.skipIf(!sandbox.confines)(
  `a workspace in a subdirectory of a repository${skipReason}`,
  () => {
    let root: string;
    let repository: string;
    let workspace: string;
    let pwned: string;
    beforeEach(() => {
      root = temporaryDirectory();
      repository = join(root, "repository");
      workspace = join(repository, "packages/one");
      pwned = join(root, "pwned");
      mkdirSync(workspace, { recursive: true });
      git("init", "-q");
      putFile(workspace, "file", "");
    });

    it("keeps a command from making a repository at a gitlink of the repository around it", async () => {
      addGitlink("packages/one/sub");
      mkdirSync(join(workspace, "sub"));
      await run(plantRepository("sub"));
      expectHarmless("status");
      expect(readdirSync(join(workspace, "sub"))).toEqual([]);
    });

    it("keeps a command from making a repository of a workspace that is such a gitlink", async () => {
      addGitlink("packages/one");
      await run(plantRepository("."));
      expectHarmless("status");
    });

    it("keeps a command from replacing the .git file of such a gitlink", async () => {
      addGitlink("packages/one/sub");
      putFile(workspace, "sub/.git", "gitdir: ../../../.git/modules/sub\n");
      await run(
        `${plantRepository("evil")}; echo 'gitdir: ../evil/.git' > sub/.git; mv evil/.git sub/`,
      );
      expectHarmless("status");
    });

    it("keeps a command from making a repository at a gitlink of a linked work tree", async () => {
      git(
        "-c",
        "user.name=a",
        "-c",
        "user.email=a",
        "commit",
        "-q",
        "--allow-empty",
        "-m",
        "first",
      );
      workspace = join(root, "linked");
      git("worktree", "add", "-q", workspace);
      repository = workspace;
      addGitlink("sub");
      mkdirSync(join(workspace, "sub"));
      await run(plantRepository("sub"));
      expectHarmless("status");
    });

    it("keeps a command from making a repository at a gitlink of a repository whose work tree the workspace is", async () => {
      git("config", "core.worktree", "../packages/one");
      addGitlink("sub");
      mkdirSync(join(workspace, "sub"));
      await run(plantRepository("sub"));
      expectHarmless("status");
    });

    it.each([
      [
        "behind a comment sign in quotes",
        "root#1",
        (path: string) => `[core]\n\tworktree = "${path}" # mine\n`,
      ],
      [
        "with a comment behind it",
        "one",
        (path: string) => `[core]\n\tworktree = ${path} ; mine\n`,
      ],
      [
        "on two lines",
        "one",
        (path: string) =>
          `[CORE] WorkTree = ${path.slice(0, 5)}\\\n${path.slice(5)}\n`,
      ],
      [
        "with escapes",
        'a"b',
        (path: string) => `[core]\n\tworktree = ${path.replace('"', '\\"')}\n`,
      ],
      [
        "partly in quotes",
        "a  b",
        (path: string) => `[core]\n\tworktree = ../"${path.slice(3)}"\n`,
      ],
    ])(
      "reads the work tree that a configuration names as git does: %s",
      async (_, name, configure) => {
        workspace = join(repository, "packages", name);
        mkdirSync(workspace, { recursive: true });
        appendFileSync(
          join(repository, ".git/config"),
          configure(`../packages/${name}`),
        );
        addGitlink("sub");
        mkdirSync(join(workspace, "sub"));
        expect(
          execFileSync("git", ["rev-parse", "--show-toplevel"], {
            cwd: repository,
            encoding: "utf8",
          }),
        ).toBe(`${workspace}\n`);
        await run(plantRepository("sub"));
        expectHarmless("status");
      },
    );

    it("reads the object format of a linked work tree's repository", async () => {
      rmSync(join(repository, ".git"), { recursive: true });
      git("init", "-q", "--object-format=sha256");
      git(
        "-c",
        "user.name=a",
        "-c",
        "user.email=a",
        "commit",
        "-q",
        "--allow-empty",
        "-m",
        "first",
      );
      workspace = join(root, "linked");
      git("worktree", "add", "-q", workspace);
      repository = workspace;
      git(
        "update-index",
        "--add",
        "--cacheinfo",
        `160000,${SHA.padEnd(64, "0")},sub`,
      );
      mkdirSync(join(workspace, "sub"));
      await run(plantRepository("sub"));
      expectHarmless("status");
    });

    it("is not confined where git's own configuration cannot be read as git does", async () => {
      appendFileSync(
        join(repository, ".git/config"),
        "[core]\nworktree x = y\n",
      );
      const problem = `${JSON.stringify(join(repository, ".git/config"))} is not valid in line`;
      await expect(readGuardedPlaces(workspace, "write")).rejects.toThrow(
        problem,
      );
      putFile(repository, ".git/config", `#${"x".repeat(1024 * 1024)}\n`);
      await expect(readGuardedPlaces(workspace, "write")).rejects.toThrow(
        "has more than 1048576 bytes",
      );
    });

    it("refuses a workspace where the .git of a gitlink is a link, which cannot be kept", async () => {
      addGitlink("packages/one/sub");
      mkdirSync(join(workspace, "sub"));
      symlinkSync("../../../.git/modules/sub", join(workspace, "sub/.git"));
      await expect(readGuardedPlaces(workspace, "write")).rejects.toThrow(
        '/sub/.git" is a symbolic link',
      );
    });

    it("keeps a command from writing hooks that the configuration around it names", async () => {
      git("config", "core.hooksPath", "packages/one/hooks");
      mkdirSync(join(workspace, "hooks"));
      await run(
        `echo '#!/bin/sh\ntouch ${pwned}' > hooks/pre-commit; chmod +x hooks/pre-commit`,
      );
      expectHarmless(
        "-c",
        "user.name=a",
        "-c",
        "user.email=a",
        "commit",
        "-q",
        "--allow-empty",
        "-m",
        "second",
      );
    });

    it("keeps a command from changing configuration that the one around it includes", async () => {
      putFile(workspace, "shared.config", "");
      git("config", "include.path", "../packages/one/shared.config");
      await run(
        `printf '[core]\\nfsmonitor = touch ${pwned}\\n' > shared.config`,
      );
      expectHarmless("status");
    });

    it.each([
      ["that an included one includes", "include", ""],
      ["that it includes under a condition", 'includeIf "onbranch:**"', ""],
      ["that it includes with a comment", "include", " # ours"],
    ])(
      "keeps a command from changing configuration %s",
      async (_, section, comment) => {
        const middle = join(root, "middle.config");
        writeFileSync(
          middle,
          "[include]\npath = repository/packages/one/shared.config\n",
        );
        putFile(workspace, "shared.config", "");
        const first =
          section === "include" && comment === ""
            ? middle
            : "../packages/one/shared.config";
        appendFileSync(
          join(repository, ".git/config"),
          `[${section}]\npath = "${first}"${comment}\n`,
        );
        await run(
          `printf '[core]\\nfsmonitor = touch ${pwned}\\n' > shared.config`,
        );
        expectHarmless("status");
      },
    );

    it("keeps a command from making configuration or hooks that the one around it names and that are missing", async () => {
      git("config", "include.path", "../packages/one/local.config");
      git("config", "core.hooksPath", "packages/one/hooks");
      await run(
        `printf '[core]\\nfsmonitor = touch ${pwned}\\n' > local.config; mkdir -p hooks; ` +
          `printf '#!/bin/sh\\ntouch ${pwned}' > hooks/pre-commit; chmod +x hooks/pre-commit`,
      );
      expectHarmless("status");
      expectHarmless(
        "-c",
        "user.name=a",
        "-c",
        "user.email=a",
        "commit",
        "-q",
        "--allow-empty",
        "-m",
        "second",
      );
      await expect.poll(() => readdirSync(workspace)).toEqual(["file"]);
    });

    it("keeps a command from changing the repository that the .git file around it names", async () => {
      renameSync(join(repository, ".git"), join(workspace, "store"));
      putFile(repository, ".git", "gitdir: packages/one/store\n");
      await run(
        `printf '[core]\\nfsmonitor = touch ${pwned}\\n' >> store/config`,
      );
      expectHarmless("status");
    });

    it("keeps hooks and configuration around it when its .git is granted", async () => {
      const store = join(repository, ".git");
      const config = fileText(store, "config");
      rmSync(join(store, "hooks"), { recursive: true });
      const attack =
        `cd ${store} && for each in config config.worktree commondir hooks/pre-commit; do mkdir -p hooks; ` +
        `printf '[core]\\nfsmonitor = touch ${pwned}\\n' >> $each; done; touch granted`;
      await run(attack, [store]);
      expect(existsSync(join(store, "granted"))).toBe(true);
      expect(fileText(store, "config")).toBe(config);
      await expect.poll(() => readdirSync(store)).not.toContain("commondir");
      expect(existsSync(join(store, "hooks/pre-commit"))).toBe(false);
      expectHarmless("status");
      const guarded = await readGuardedPlaces(workspace, "write");
      expect(sandbox.canGrant(store, guarded)).toBe(true);
      for (const name of ["hooks", "config", "hooks/pre-commit"]) {
        expect(sandbox.canGrant(join(store, name), guarded), name).toBe(false);
      }
    });

    it("keeps the repository around it when a directory above that is granted", async () => {
      await run(
        `printf '[core]\\nfsmonitor = touch ${pwned}\\n' >> ${repository}/.git/config; touch ${repository}/made`,
        [repository],
      );
      expect(existsSync(join(repository, "made"))).toBe(true);
      expectHarmless("status");
    });

    it("is confined also where another user's repository lies above it", async () => {
      putFile(repository, ".git/index", "DIRC");
      chmodSync(join(repository, ".git"), 0);
      await run("touch ran");
      chmodSync(join(repository, ".git"), 0o755);
      expect(existsSync(join(workspace, "ran"))).toBe(true);
    });

    /**
     * A script that makes a repository which runs a program when git looks at
     * its status.
     */
    function plantRepository(path: string): string {
      return `git init -q ${path}; git -C ${path} config core.fsmonitor 'touch ${pwned}'`;
    }

    function addGitlink(path: string): void {
      git("update-index", "--add", "--cacheinfo", `160000,${SHA},${path}`);
    }

    function expectHarmless(...args: string[]): void {
      spawnSync("git", args, { cwd: repository });
      expect(existsSync(pwned)).toBe(false);
    }

    function git(...args: string[]): void {
      execFileSync("git", args, { cwd: repository });
    }

    async function run(
      script: string,
      writable: readonly string[] = [],
    ): Promise<void> {
      const command = await sandbox.command({
        argv: ["bash", "-c", `${script}\necho ran`],
        workingDirectory: workspace,
        environment: { PATH },
        shell: "/bin/bash",
        access: { workspace, readable: [], writable, network: "none" },
      });
      await using running = startProcess(command, signal);
      let output = "";
      for await (const text of running.output()) output += text;
      await running.ended;
      expect(output).toMatch(/^ran$/m);
    }
  },
);
