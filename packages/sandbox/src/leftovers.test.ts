import { execFileSync, spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileText, putFile } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { beforeEach, describe, expect, it } from "vitest";
import { findDenial } from "./denial.ts";
import { findSandbox } from "./find-sandbox.ts";
import { findGitlinks } from "./git-index.ts";
import { readGuardedPlaces } from "./guarded-places.ts";
import { makePlaceholder } from "./placeholder.ts";
import type { SandboxAccess } from "./sandbox.ts";
import { startProcess } from "./start-process.ts";

const PATH = "/usr/local/bin:/usr/bin:/bin";
const SHA = "1234567890123456789012345678901234567890";
const signal = AbortSignal.timeout(300_000);
const sandbox = await findSandbox("auto", { path: PATH }, signal);
const why = sandbox.confines ? "" : ` (skipped: ${sandbox.notice})`;

interface Running {
  readonly ended: Promise<string>;
}

describe.skipIf(!sandbox.confines)(
  `a confined command, and what editors and git find afterwards${why}`,
  () => {
    let workspace: string;
    beforeEach(() => {
      workspace = temporaryDirectory();
    });

    it.each([
      ".vscode",
      ".idea",
      ".gemini",
      ".claude",
      ".cursor",
      ".zed",
      ".devcontainer",
      ".devtool",
      ".windsurf",
      ".roo",
      ".kiro",
    ])("cannot make %s where it is missing", async (name) => {
      const said = await run(
        `mkdir -p ${name}; echo '{}' > ${name}/tasks.json; ls -A ${name}; touch own`,
      );
      expect(said).toContain("Read-only file system");
      await expect.poll(() => readdirSync(workspace)).toEqual(["own"]);
    });

    it("cannot make .mcp.json where it is missing", async () => {
      await run("rm -rf .mcp.json; echo '{}' > .mcp.json; mv own .mcp.json");
      await expect.poll(() => readdirSync(workspace)).toEqual([]);
    });

    it("cannot make one while another command runs, either", async () => {
      const long = await runUntil(
        "go",
        "mkdir -p .vscode; echo x > .vscode/tasks.json; exit 0",
      );
      await run("true");
      await end("go", long);
      await expect
        .poll(() => readdirSync(workspace).toSorted())
        .toEqual(["began-go", "go"]);
    });

    it("cannot make one because a command of another server ends", async () => {
      const other = await findSandbox("auto", { path: PATH }, signal);
      const first = await runUntil("go-first", "true", other);
      const second = await runUntil(
        "go",
        "mkdir -p .vscode; echo x > .vscode/tasks.json; exit 0",
      );
      await end("go-first", first);
      await end("go", second);
      await run("rm go* began*");
      await expect.poll(() => readdirSync(workspace)).toEqual([]);
    });

    it("removes what a killed server left behind", async () => {
      for (const name of [".vscode", ".mcp.json"]) {
        makePlaceholder(join(workspace, name), 1);
      }
      await run("true");
      await expect.poll(() => readdirSync(workspace)).toEqual([]);
    });

    it("makes one when that is granted", async () => {
      const output = await run("mkdir .vscode/sub");
      const guarded = await readGuardedPlaces(workspace, "write");
      const denial = findDenial(
        {
          command: "",
          output,
          workingDirectory: workspace,
          access: access(),
          guarded,
        },
        sandbox,
      );
      expect(denial).toEqual({
        case: "write",
        path: join(workspace, ".vscode"),
      });
      await run("mkdir -p .vscode; echo '{}' > .vscode/settings.json", [
        join(workspace, ".vscode"),
      ]);
      expect(fileText(workspace, ".vscode/settings.json")).toBe("{}\n");
    });

    it("neither sees nor changes the targets of links at these names", async () => {
      const outside = temporaryDirectory();
      putFile(outside, "secret", "canary");
      git("init", "-q");
      rmSync(join(workspace, ".git/hooks"), { recursive: true, force: true });
      const names = [
        ".git/hooks",
        ".vscode",
        ".gemini",
        ".devtool",
        ".mcp.json",
      ];
      for (const name of names) symlinkSync(outside, join(workspace, name));
      const said = await run(
        names
          .map((name) => `cat ${name}/secret; touch ${name}/made`)
          .join("; "),
      );
      expect(said).not.toContain("canary");
      expect(readdirSync(outside)).toEqual(["secret"]);
    });

    it("cannot make a repository at a gitlink, into which git status would look", async () => {
      git("init", "-q");
      mkdirSync(join(workspace, "sub"));
      git("update-index", "--add", "--cacheinfo", `160000,${SHA},sub`);
      git("update-index", "--add", "--cacheinfo", `160000,${SHA},deep/er/gone`);
      await run(
        "git init -q sub; git -C sub config core.fsmonitor 'touch pwned'; git init -q deep/er/gone; mkdir -p deep/x",
      );
      expect(readdirSync(join(workspace, "sub"))).toEqual([]);
      await expect
        .poll(() => readdirSync(workspace).toSorted())
        .toEqual([".git", "sub"]);
      expect(
        sandbox.canGrant(
          join(workspace, "sub/.git"),
          await readGuardedPlaces(workspace, "write"),
        ),
      ).toBe(false);
    });

    it("cannot change the repository of a gitlink", async () => {
      git("init", "-q");
      git("update-index", "--add", "--cacheinfo", `160000,${SHA},sub`);
      mkdirSync(join(workspace, "sub"));
      execFileSync("git", ["init", "-q"], { cwd: join(workspace, "sub") });
      const before = fileText(workspace, "sub/.git/config");
      await run(
        "git -C sub config core.fsmonitor 'touch pwned'; echo x > sub/.git/hooks/post-checkout; mv sub away; rm -rf sub",
      );
      expect(fileText(workspace, "sub/.git/config")).toBe(before);
      expect(existsSync(join(workspace, "sub/.git/hooks/post-checkout"))).toBe(
        false,
      );
    });

    it.each([
      ["core.fsmonitor", "git -C sub config core.fsmonitor 'touch ../pwned'"],
      [
        "a filter",
        "echo '* filter=x' > sub/.gitattributes; git -C sub config filter.x.clean 'touch ../pwned; cat'",
      ],
      [
        "an included file",
        "printf '[core]\\nfsmonitor = touch ../pwned\\n' > c; git -C sub config include.path ../../c",
      ],
      [
        "a hook",
        "printf '#!/bin/sh\\ntouch ../pwned' > sub/.git/hooks/post-index-change; chmod +x sub/.git/hooks/*",
      ],
      [
        "config.worktree",
        "git -C sub config extensions.worktreeConfig true; git -C sub config --worktree core.fsmonitor 'touch ../pwned'",
      ],
      [
        "a repository that a .git file names",
        "git -C sub config core.fsmonitor 'touch ../pwned'; mv sub/.git store; echo 'gitdir: ../store' > sub/.git",
      ],
      [
        "a repository in the granted one",
        "git -C sub config core.fsmonitor 'touch ../pwned'; mkdir .git/modules; mv sub/.git .git/modules/s; echo 'gitdir: ../.git/modules/s' > sub/.git",
      ],
      [
        "a repository in it",
        "git init -q sub/in; git -C sub/in commit -q --allow-empty -m x; git -C sub/in config core.fsmonitor 'touch ../../pwned'; git -C sub add in",
      ],
    ])(
      "R5: leaves nothing that git status runs in a repository added with .git granted: %s",
      async (_name, script) => {
        git("init", "-q");
        putFile(workspace, "a", "a");
        git("add", "a");
        await run(
          `export HOME=/tmp GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b; git init -q sub; echo x > sub/f; git -C sub add f; git -C sub commit -q -m x; ${script}; git add sub; echo y > sub/f; touch sub/f; touch -d '2001-01-01' sub/f`,
          [join(workspace, ".git")],
        );
        spawnSync("git", ["status"], { cwd: workspace });
        spawnSync("git", ["diff"], { cwd: workspace });
        expect(existsSync(join(workspace, "pwned"))).toBe(false);
        const listed = spawnSync("git", ["ls-files", "-s"], { cwd: workspace });
        expect(listed.stdout.toString()).toMatch(/^160000 .*\tsub$/m);
      },
    );

    it("R5: leaves no index whose gitlinks cannot be read", async () => {
      git("init", "-q");
      await run(
        `seq 1001 | sed 's/.*/160000 ${SHA} 0\\t&/' | git update-index --index-info`,
        [join(workspace, ".git")],
      );
      expect(readdirSync(join(workspace, ".git"))).toContain(
        "index.replaced-1",
      );
    });

    it("R5: keeps the configuration of an added repository that names no program", async () => {
      git("init", "-q");
      await run(
        "export HOME=/tmp GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b; git init -q sub; git -C sub commit -q --allow-empty -m x; git -C sub remote add origin https://example.com/a; git add sub",
        [join(workspace, ".git")],
      );
      expect(readdirSync(join(workspace, "sub/.git"))).toContain("config");
    });

    it("cannot change the configuration of a submodule or work tree, even with .git granted", async () => {
      git("init", "-q");
      const modules = [
        "modules/lib",
        "modules/a/b",
        "modules/lib/modules/inner",
      ].map((path) => join(".git", path));
      for (const path of modules) {
        mkdirSync(join(workspace, path), { recursive: true });
        for (const name of ["HEAD", "config"]) {
          putFile(workspace, join(path, name), "kept");
        }
      }
      mkdirSync(join(workspace, ".git/worktrees/w"), { recursive: true });
      const writes = modules.map(
        (path) =>
          `echo x > ${path}/config; echo x > ${path}/hooks/post-checkout; mv ${path} ${path}x`,
      );
      await run(
        `mv .git/modules .git/m; ${writes.join("; ")}; echo x > .git/worktrees/w/config.worktree; echo x > .git/other`,
        [join(workspace, ".git")],
      );
      for (const path of modules) {
        expect(fileText(workspace, join(path, "config")), path).toBe("kept");
        expect(readdirSync(join(workspace, path, "hooks")), path).toEqual([]);
      }
      expect(readdirSync(join(workspace, ".git/worktrees/w"))).toEqual([]);
      expect(existsSync(join(workspace, ".git/other"))).toBe(true);
    });

    it.each([
      "echo ../../evil > .git/commondir",
      "echo ../evil > x; ln -s ../x .git/commondir",
      "echo x > .git/config.worktree",
    ])(
      "cannot give the repository another configuration with .git granted: %s",
      async (script) => {
        git("init", "-q");
        git("init", "-q", "--bare", "evil");
        git("-C", "evil", "config", "core.fsmonitor", "touch pwned");
        await run(`${script}; echo x > .git/other`, [join(workspace, ".git")]);
        const kept = readdirSync(join(workspace, ".git"));
        expect(kept).toContain("other");
        expect(kept).not.toContain("commondir");
        expect(kept).not.toContain("config.worktree");
      },
    );

    it.each(["2", "4"])(
      "is confined by the gitlinks of an index of version %s",
      async (version) => {
        git("init", "-q");
        for (const name of ["a", "abc/def", "abc/deg", "z"]) {
          mkdirSync(join(workspace, name), { recursive: true });
          putFile(workspace, join(name, "file"), name);
        }
        git("add", ".");
        for (const path of ["abc/deg/sub", "b", "zz"]) {
          git("update-index", "--add", "--cacheinfo", `160000,${SHA},${path}`);
        }
        git("update-index", "--index-version", version);
        expect(await findGitlinks(workspace)).toEqual([
          "abc/deg/sub",
          "b",
          "zz",
        ]);
      },
    );

    it("is confined by the gitlinks of a split index", async () => {
      git("init", "-q");
      for (const path of ["old", "b/c"]) {
        git("update-index", "--add", "--cacheinfo", `160000,${SHA},${path}`);
      }
      git("update-index", "--split-index");
      git("update-index", "--add", "--cacheinfo", `160000,${SHA},new`);
      expect((await findGitlinks(workspace)).toSorted()).toEqual([
        "b/c",
        "new",
        "old",
      ]);
    });

    it("cannot make a repository at a gitlink of a submodule", async () => {
      git("init", "-q");
      git("init", "-q", "outer");
      git(
        "-C",
        "outer",
        "update-index",
        "--add",
        "--cacheinfo",
        `160000,${SHA},inner`,
      );
      mkdirSync(join(workspace, ".git/modules"));
      git("init", "-q", "--separate-git-dir", ".git/modules/lib", "lib");
      git(
        "-C",
        "lib",
        "update-index",
        "--add",
        "--cacheinfo",
        `160000,${SHA},deep`,
      );
      for (const path of ["outer", "lib"]) {
        git("update-index", "--add", "--cacheinfo", `160000,${SHA},${path}`);
      }
      expect((await findGitlinks(workspace)).toSorted()).toEqual([
        "lib",
        "lib/deep",
        "outer",
        "outer/inner",
      ]);
      const evil = ["outer/inner", "lib/deep"].map(
        (path) => `git init -q ${path}; echo x > ${path}/.git/config`,
      );
      await run(evil.join("; "));
      for (const path of ["outer/inner", "lib/deep"]) {
        expect(existsSync(join(workspace, path)), path).toBe(false);
      }
    });

    it("cannot leave a repository for which the next command waits for ever", () => {
      mkdirSync(join(workspace, ".git"));
      execFileSync("mkfifo", [
        join(workspace, ".git/index"),
        join(workspace, ".git/config"),
      ]);
      // In a process of its own, since a wait would hold this one.
      const script = `import { findGitlinks } from ${JSON.stringify(new URL("git-index.ts", import.meta.url))}; console.log(await findGitlinks(process.argv[1]))`;
      const argv = [
        "--no-warnings",
        "--experimental-transform-types",
        "--conditions=@devtool/source",
        "--input-type=module",
        "-e",
        script,
        workspace,
      ];
      const { status, stdout } = spawnSync(process.execPath, argv, {
        encoding: "utf8",
        timeout: 30_000,
      });
      expect({ status, stdout }).toEqual({ status: 0, stdout: "[]\n" });
    });

    function git(...args: string[]): void {
      execFileSync("git", args, { cwd: workspace });
    }

    function access(writable: readonly string[] = []): SandboxAccess {
      return { workspace, readable: [], writable, network: "none" };
    }

    /**
     * Starts a command, which has begun then and goes on when there is a file
     * of this name.
     */
    async function runUntil(
      name: string,
      script: string,
      confinement = sandbox,
    ): Promise<Running> {
      const ended = run(
        `touch began-${name}; until [ -e ${name} ]; do sleep 0.02; done; ${script}`,
        [],
        confinement,
      );
      while (!existsSync(join(workspace, `began-${name}`))) {
        await delay(10, undefined, { signal });
      }
      return { ended };
    }

    async function end(name: string, { ended }: Running): Promise<void> {
      putFile(workspace, name, "");
      await ended;
    }

    async function run(
      script: string,
      writable: readonly string[] = [],
      confinement = sandbox,
    ): Promise<string> {
      const command = await confinement.command({
        argv: ["bash", "-c", script],
        workingDirectory: workspace,
        environment: { PATH },
        shell: "/bin/bash",
        access: access(writable),
      });
      let output = "";
      await using running = startProcess(command, signal);
      for await (const chunk of running.output()) output += chunk;
      const { error } = await running.ended;
      if (error) throw error;
      return output;
    }
  },
);
