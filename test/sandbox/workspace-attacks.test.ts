import { execFileSync, spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import {
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { create } from "@bufbuild/protobuf";
import { textMessage } from "@devtool/client";
import type { CodingServerOptions } from "@devtool/coding-agent";
import { fileText, putFile } from "@devtool/internal/testing/files";
import { createMcp } from "@devtool/mcp";
import { findSandbox } from "@devtool/sandbox";
import {
  ApprovalMode,
  McpServerSchema,
  type Task,
  TaskSchema,
  TaskState,
} from "@devtool/schema";
import type { DevtoolServer } from "@devtool/server";
import { describe, expect, it } from "vitest";
import { clientOf } from "../client-of.ts";
import { variantsOf } from "../depth.ts";
import {
  answer,
  asked,
  outputs,
  say,
  Victim,
} from "./workspace-attacks/victim.ts";

const found = await findSandbox(
  "auto",
  { path: "" },
  AbortSignal.timeout(60_000),
);
const why = found.confines ? "" : ` (skipped: ${found.notice})`;

describe("a root that lies in another one", () => {
  it("S2: takes no new session once a link leads from it elsewhere", async () => {
    await using victim = new Victim();
    victim.file("x/sub/id", "inside");
    const inner = join(victim.workspace, "x/sub");
    const server = await victim.serve({
      workspace: inner,
      workspaceRoots: [inner, victim.workspace],
      approvalMode: ApprovalMode.YOLO,
      sandbox: "none",
    });
    expect(outputs(await say(server, "read id"))).toContain("inside");
    const { tasks } = clientOf(server);
    await tasks.sendMessage({
      message: textMessage(
        randomUUID(),
        `run mkdir ${victim.loot}/sub && echo secret > ${victim.loot}/sub/id && mv x y && ln -s ${victim.loot} x`,
      ),
      settings: { workspacePath: victim.workspace },
    });
    await expect.poll(() => victim.has("x/sub/id")).toBe(true);
    for (const workspacePath of ["", inner, `${victim.loot}/sub`]) {
      await expect(
        tasks.sendMessage({
          message: textMessage(randomUUID(), "read id"),
          settings: { workspacePath },
        }),
        workspacePath,
      ).rejects.toThrow(/is not where it was|is outside the allowed roots/);
    }
  });

  it.each(["link", "directory"])(
    "R3: refuses a turn and a call of a session that has begun once a %s takes its place",
    async (kind) => {
      await using victim = new Victim();
      victim.file("x/id", "inside");
      const inner = join(victim.workspace, "x");
      const server = await victim.serve({
        workspace: victim.workspace,
        approvalMode: ApprovalMode.YOLO,
        sandbox: "none",
      });
      const { tasks } = clientOf(server);
      const send = async (text: string, contextId = ""): Promise<Task> => {
        const { task } = await tasks.sendMessage({
          message: textMessage(randomUUID(), text),
          ...(contextId === ""
            ? { settings: { workspacePath: inner } }
            : { contextId }),
        });
        const whole = await tasks.getTask({ taskId: task?.id ?? "" });
        return whole.task ?? create(TaskSchema);
      };
      const first = await send("read id");
      expect(outputs(first)).toContain("inside");
      putFile(victim.loot, "id", "secret");
      const made =
        kind === "link" ? `ln -s ${victim.loot}` : `cp -r ${victim.loot}`;
      const swap = `run mv ${inner} ${inner}-old && ${made} ${inner}`;
      for (const text of [`${swap}\nread id\nwrite id changed`, "read id"]) {
        const task = await send(text, first.contextId);
        expect(task).toMatchObject({
          state: TaskState.FAILED,
          error: expect.stringContaining(
            `workspace "${inner}" is not where it was`,
          ),
        });
        expect(outputs(task)).not.toContain("secret");
      }
      expect(fileText(victim.loot, "id")).toBe("secret");
      expect(victim.read("x-old/id")).toBe("inside");
    },
  );
});

describe("a session whose workspace was replaced", () => {
  /** A session in a directory of the root, whose id is "inside". */
  async function begin(victim: Victim, options: CodingServerOptions = {}) {
    const inner = join(victim.workspace, "x/sub");
    victim.file("x/sub/id", "inside");
    for (const path of ["sub", "copy"]) mkdirSync(join(victim.loot, path));
    putFile(victim.loot, "sub/id", "secret");
    const settings = {
      approvalMode: ApprovalMode.YOLO,
      sandbox: "none",
      ...options,
    } as const;
    const server = await victim.serve(settings);
    const { task } = await clientOf(server).tasks.sendMessage({
      message: textMessage(randomUUID(), "read id"),
      settings: { workspacePath: inner },
    });
    const { id: taskId = "", contextId = "" } = task ?? {};
    const read = async (at: DevtoolServer): Promise<string> => {
      const { tasks } = clientOf(at);
      const message = textMessage(randomUUID(), "read id");
      const sent = await tasks.sendMessage({ message, contextId });
      const { task: made = create(TaskSchema) } = await tasks.getTask({
        taskId: sent.task?.id ?? "",
      });
      return `${made.error}${outputs(made)}`;
    };
    return { inner, settings, server, taskId, contextId, read };
  }

  it("S2: is refused also when other requests name the directory there now", async () => {
    await using victim = new Victim();
    const { inner, server, contextId, read } = await begin(victim);
    renameSync(inner, `${inner}-old`);
    cpSync(join(victim.loot, "sub"), inner, { recursive: true });
    const { commands, tasks } = clientOf(server);
    const settings = { workspacePath: inner };
    const message = textMessage(randomUUID(), "read id");
    const sessionSettings = { model: "no such model", agent: "none" };
    for (const ask of [
      () => commands.getAllSlashCommands({ settings }),
      () => commands.getAllSlashCommands({ contextId, settings }),
      () =>
        commands.runSlashCommand({
          command: { commandPath: ["no"] },
          settings,
        }),
      () => tasks.sendMessage({ message, settings, sessionSettings }),
    ]) {
      await ask().catch(() => undefined);
      expect(await read(server)).toContain("is not where it was");
    }
    // A session that begins means the directory that is there.
    await tasks.sendMessage({ message, settings });
    expect(await read(server)).toBe("secret");
  });

  it("S2: starts no MCP server in the place where it leads", async () => {
    await using victim = new Victim();
    const value = {
      command: "sh",
      args: ["-c", `cat id >> ${victim.loot}/copy/id`],
    };
    const transport = { case: "stdio", value } as const;
    const mcp = createMcp({ servers: [{ name: "notes", transport }] });
    const { inner, settings, taskId, contextId, server } = await begin(victim, {
      mcp,
    });
    const started = join(victim.loot, "copy/id");
    expect(readFileSync(started, "utf8")).toContain("inside");
    await server.close();
    renameSync(dirname(inner), `${dirname(inner)}-old`);
    symlinkSync(victim.loot, dirname(inner));
    const { workspaces, commands } = clientOf(await victim.serve(settings));
    await workspaces.getWorkspaceSettings({ taskId });
    await commands.getAllSlashCommands({ contextId });
    expect(readFileSync(started, "utf8")).not.toContain("secret");
  });

  it("S2: says that the workspace is gone", async () => {
    await using victim = new Victim();
    const { inner, server, read } = await begin(victim);
    renameSync(inner, `${inner}-old`);
    expect(await read(server)).toBe(`path "${inner}" cannot be opened: ENOENT`);
    renameSync(`${inner}-old`, inner);
    expect(await read(server)).toBe("inside");
  });
});

describe("a workspace with programs in the way of PATH (C1)", () => {
  const BIN = "node_modules/.bin";

  it("runs none of them while a question is put, nor after the answer", async () => {
    await using victim = new Victim();
    for (const name of ["bwrap", "git", "bash", "sh", "touch"]) {
      victim.program(join(BIN, name), `/usr/bin/${name}`);
    }
    const server = await victim.serve({}, [BIN, "", "."]);
    const task = await say(server, "run touch made");
    expect(asked(task)).toHaveLength(1);
    expect(readdirSync(victim.loot)).toEqual([]);
    await answer(task, server);
    await answer(await say(server, "write file.txt text"), server);
    expect(victim.read("file.txt")).toBe("text");
    expect(victim.has("made")).toBe(true);
    expect(readdirSync(victim.loot)).toEqual([]);
  });

  it("runs none of them without a sandbox", async () => {
    await using victim = new Victim();
    for (const name of ["bash", "sh", "touch"]) {
      victim.program(join("tools", name), `/usr/bin/${name}`);
    }
    const server = await victim.serve({ sandbox: "none" }, ["tools"]);
    await answer(await say(server, "run touch made"), server);
    expect(victim.has("made")).toBe(true);
    expect(readdirSync(victim.loot)).toEqual([]);
  });

  it("gives no MCP server a program of its own", async () => {
    await using victim = new Victim();
    victim.program(join(BIN, "notes-mcp"), "/bin/true");
    const notices: string[] = [];
    const transport = {
      case: "stdio",
      value: { command: "notes-mcp" },
    } as const;
    const mcpServers = [create(McpServerSchema, { name: "notes", transport })];
    const server = await victim.serve(
      {
        mcp: createMcp({ servers: mcpServers }),
        onNotice: (text) => notices.push(text),
      },
      [BIN],
    );
    await say(server, "hello");
    await expect.poll(() => notices.join("\n")).toContain("ENOENT");
    expect(readdirSync(victim.loot)).toEqual([]);
  });

  for (const there of ["there", "missing"]) {
    it.skipIf(!found.confines)(
      `lets no command plant git where the directory is ${there}${why}`,
      async () => {
        await using victim = new Victim();
        if (there === "there") victim.file(join(BIN, "eslint"), "");
        const server = await victim.serve({}, [BIN]);
        await answer(await say(server, "write first.txt text"), server);
        victim.file(
          "plant.sh",
          `touch changed; mv node_modules old 2>/dev/null; mkdir -p ${BIN}; cp trap ${BIN}/git; chmod +x ${BIN}/git`,
        );
        victim.file("trap", victim.trap("/usr/bin/git"));
        await answer(await say(server, "run bash plant.sh"), server);
        expect(victim.has(join(BIN, "git"))).toBe(true);
        await answer(await say(server, "write second.txt text"), server);
        expect(victim.read("second.txt")).toBe("text");
        expect(readdirSync(victim.loot)).toEqual([]);
      },
    );
  }
});

describe.skipIf(!found.confines)(
  `a command that nobody was asked about${why}`,
  () => {
    it("gets no descriptor that the server was started with (L1)", async () => {
      await using victim = new Victim();
      victim.file("../loot/secret", "canary");
      const main = fileURLToPath(
        new URL("../../packages/cli/dist/main.js", import.meta.url),
      );
      const run = [
        main,
        "run",
        "--workspace",
        victim.workspace,
        "--data",
        join(victim.loot, "data"),
      ];
      const prompt =
        "run cat /proc/self/fd/200/secret\nrun ls /proc/self/fd\nrun pwd";
      const script = 'exec 200<"$0" 9<"$0" 30<"$0"; exec "$@"';
      const { stdout } = spawnSync(
        "bash",
        ["-c", script, victim.loot, process.execPath, ...run, prompt],
        {
          encoding: "utf8",
        },
      );
      expect(stdout).not.toContain("canary");
      expect(stdout).toContain(victim.workspace);
      expect(stdout).not.toMatch(/^\s*(9|30|200)$/m);
    });

    it("cannot use up the machine (L6)", async () => {
      await using victim = new Victim();
      const task = await say(await victim.serve(), "run sort /dev/zero");
      expect(asked(task)).toEqual([]);
      expect(outputs(task)).toMatch(
        /memory exhausted|No space left|ended by SIG/,
      );
    });
  },
);

describe.skipIf(!found.confines)(
  `a repository that names programs for git (H2)${why}`,
  () => {
    const HOSTILE =
      "[core]\n\tfsmonitor = touch PWNED; false\n\trepositoryformatversion = 0\n";

    it("runs none of them without asking, by its own configuration", async () => {
      await using victim = new Victim();
      execFileSync("git", ["init", "--quiet", victim.workspace]);
      execFileSync("git", [
        "-C",
        victim.workspace,
        "config",
        "core.fsmonitor",
        "touch PWNED; false",
      ]);
      const task = await say(await victim.serve(), "run git status");
      expect(asked(task)).toEqual([]);
      expect(outputs(task)).toContain("No commits yet");
      expect(victim.has("PWNED")).toBe(false);
    });

    it("runs none of them without asking, as a repository without a work tree", async () => {
      await using victim = new Victim();
      bareRepository(victim, "");
      const task = await say(await victim.serve(), "run git status");
      expect(asked(task)).toEqual([]);
      expect(victim.has("PWNED")).toBe(false);
    });

    it.each(
      variantsOf(
        "kinds of repositories",
        ["a submodule", "a clone", "a bare repository"],
        1,
      ),
    )(
      "runs none of them without asking, by the configuration of %s in the workspace",
      async (kind) => {
        await using victim = new Victim();
        const git = (directory: string, ...args: string[]): unknown =>
          execFileSync("git", [
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@b",
            "-C",
            directory,
            ...args,
          ]);
        const nested = join(victim.workspace, "sub");
        git(".", "init", "--quiet", victim.workspace);
        git(
          ".",
          "init",
          "--quiet",
          ...(kind === "a bare repository" ? ["--bare"] : []),
          nested,
        );
        victim.file("sub/notes.txt", "one");
        if (kind !== "a bare repository") {
          git(nested, "add", "notes.txt");
          git(nested, "commit", "--quiet", "-m", "one");
          victim.file("sub/.gitattributes", "* filter=evil diff=evil\n");
          victim.file("sub/notes.txt", "two");
        }
        if (kind !== "a clone") {
          git(victim.workspace, "add", kind === "a submodule" ? "sub" : ".");
        }
        for (const key of [
          "core.fsmonitor",
          "filter.evil.clean",
          "diff.evil.textconv",
          "diff.external",
        ]) {
          git(nested, "config", key, "echo R''AN >&2; false");
        }
        // The programs would run: the user's own git runs them there.
        if (kind !== "a bare repository") {
          expect(
            spawnSync("git", ["-C", nested, "status"], { encoding: "utf8" })
              .stderr,
          ).toContain("RAN");
        }
        const server = await victim.serve();
        const commands = [
          "status",
          "status -sb",
          "diff",
          "diff --stat",
          "log -p",
          "ls-files -m",
          "show",
          "grep one",
        ];
        const unasked: string[] = [];
        for (const directory of ["", "sub"]) {
          for (const command of [
            ...commands.map((words) => `git ${words}`),
            "ls -R sub",
            "cat sub/notes.txt",
          ]) {
            const task = await say(
              server,
              `call run_shell_command ${JSON.stringify({ command, directory })}`,
            );
            if (asked(task).length > 0) continue;
            unasked.push(`${directory}: ${command}`);
            expect(outputs(task), `${directory}: ${command}`).not.toContain(
              "RAN",
            );
          }
        }
        expect(unasked).toEqual(
          expect.arrayContaining([": git status", ": cat sub/notes.txt"]),
        );
        expect(unasked.filter((line) => line.startsWith("sub: git"))).toEqual(
          [],
        );
      },
    );

    it("changes nothing without asking, whatever git is made to run", async () => {
      await using victim = new Victim();
      const git = (...args: readonly string[]): Buffer =>
        execFileSync("git", ["-C", victim.workspace, ...args]);
      git("init", "--quiet");
      victim.file(".gitattributes", "* diff=evil filter=evil\n");
      victim.file("file.txt", "one\n");
      git(
        "-c",
        "user.name=a",
        "-c",
        "user.email=a@b",
        "commit",
        "--quiet",
        "--allow-empty",
        "-m",
        "first",
      );
      git("add", ".");
      for (const key of [
        "diff.evil.textconv",
        "diff.evil.command",
        "filter.evil.clean",
        "diff.external",
        "core.pager",
      ]) {
        git("config", key, "touch PWNED; cat");
      }
      victim.file("file.txt", "two\n");
      const server = await victim.serve();
      for (const command of [
        "git diff",
        "git status",
        "git log -p",
        "git show",
        "git grep one",
      ]) {
        expect(asked(await say(server, `run ${command}`))).toEqual([]);
      }
      expect(victim.has("PWNED")).toBe(false);
    });

    it("cannot be made by the model in auto_edit without a question", async () => {
      await using victim = new Victim();
      const server = await victim.serve({
        approvalMode: ApprovalMode.AUTO_EDIT,
      });
      for (const path of ["HEAD", "sub/HEAD", "config", "sub/config"]) {
        expect(asked(await say(server, `write ${path} text`))).toHaveLength(1);
      }
      expect(asked(await say(server, "write objects/x text"))).toEqual([]);
    });

    it("asks for git beside a command that a rule lets do more", async () => {
      await using victim = new Victim();
      victim.file(
        "../data/policy.toml",
        '[[rule]]\ncommand_prefix = "touch"\ndecision = "allow"\n',
        0o600,
      );
      const server = await victim.serve();
      expect(asked(await say(server, "run touch made && ls"))).toEqual([]);
      expect(
        asked(await say(server, "run touch made && git status")),
      ).toHaveLength(1);
    });

    it("gives a command that nobody was asked about no grant of the task", async () => {
      await using victim = new Victim();
      const git = (...args: readonly string[]): Buffer =>
        execFileSync("git", ["-C", victim.workspace, ...args]);
      git("init", "--quiet");
      victim.file("file.txt", "one\n");
      git("add", ".");
      victim.file(".gitattributes", "* filter=evil\n");
      git("config", "filter.evil.clean", "touch .git/PWNED; cat");
      victim.file("file.txt", "two\n");
      const server = await victim.serve();
      const asking = await answer(
        await say(server, "run touch .git/made\nrun git diff"),
        server,
      );
      const granted = await answer(asking, server, "proceed_for_task");
      expect(outputs(granted)).toContain("+two");
      expect([victim.has(".git/made"), victim.has(".git/PWNED")]).toEqual([
        true,
        false,
      ]);
    });

    function bareRepository(victim: Victim, directory: string): void {
      victim.file(join(directory, "HEAD"), "ref: refs/heads/main\n");
      victim.file(
        join(directory, "config"),
        `${HOSTILE}\tbare = false\n\tworktree = .\n`,
      );
      for (const path of ["objects/x", "refs/x"]) {
        victim.file(join(directory, path), "");
      }
    }
  },
);
