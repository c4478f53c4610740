import { execFileSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import type { JsonObject } from "@bufbuild/protobuf";
import { fileText, putFile } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import {
  findSandbox,
  noSandbox,
  type Sandbox,
  type SandboxAccess,
  SandboxGrants,
} from "@devtool/sandbox";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { countProcesses } from "../../../test/count-processes.ts";
import type { Question, ToolEvent, ToolInvocation } from "../tool.ts";
import { Workspace } from "../workspace.ts";
import { runShellCommandTool, type ShellOptions } from "./run-shell-command.ts";

const PATH = "/usr/local/bin:/usr/bin:/bin";
const found = await findSandbox(
  "auto",
  { path: PATH },
  AbortSignal.timeout(60_000),
);
const why = found.confines ? "" : ` (skipped: ${found.notice})`;

describe.skipIf(!found.confines)(`run_shell_command in a sandbox${why}`, () => {
  let root: string;
  let outside: string;
  let hidden: string;
  let sandbox: Sandbox;
  let workspace: Workspace;
  beforeEach(async () => {
    root = temporaryDirectory();
    outside = temporaryDirectory();
    hidden = join(root, ".data");
    putFile(hidden, "token", "secret");
    workspace = new Workspace(root);
    sandbox = await findSandbox(
      "bwrap",
      { hidden: [hidden], path: PATH },
      signal(),
    );
  });
  afterEach(() => workspace[Symbol.dispose]());

  it("reports its process and the name of its sandbox", async () => {
    const { events } = await run("echo hi >made");
    expect(events[0]).toMatchObject({
      case: "process",
      value: { sandbox: "bwrap", pid: expect.any(Number) },
    });
    expect(fileText(root, "made")).toBe("hi\n");
  });

  it("hides files of the server, in the workspace too", async () => {
    expect(
      (await run("cat .data/token || ls -A .data; exit 0")).text,
    ).not.toContain("secret");
    expect(
      (await run(`ls ${hidden}`, { grants: granting(hidden) })).text,
    ).not.toContain("token");
  });

  it("keeps standard output and standard error in order", async () => {
    expect((await run("echo 1; echo 2 >&2; echo 3; echo 4 >&2")).text).toBe(
      "1\n2\n3\n4\n",
    );
  });

  it("asks for missing write access, and runs again with this access only", async () => {
    const other = join(outside, "other");
    mkdirSync(join(outside, "place"));
    mkdirSync(other);
    const command = `echo tried >>log; touch ${outside}/place/file`;
    const { events, asked } = await run(command, { access: reading(outside) }, [
      "proceed_once",
    ]);
    expect(asked).toMatchObject([
      {
        description: expect.stringContaining(
          `with write access to "${outside}/place"`,
        ),
        details: {
          case: "executeDetails",
          value: { command, workingDirectory: root },
        },
        options: [
          { id: "proceed_once" },
          { id: "proceed_for_task" },
          { id: "cancel" },
        ],
      },
    ]);
    expect(events.at(-1)).toMatchObject({ value: { case: "output" } });
    expect(readdirSync(join(outside, "place"))).toEqual(["file"]);
    expect(fileText(root, "log")).toBe("tried\ntried\n");
    expect(
      (
        await run(`touch ${other}/file`, { access: reading(outside) }, [
          "cancel",
        ])
      ).asked,
    ).toHaveLength(1);
    expect(existsSync(join(other, "file"))).toBe(false);
  });

  it("keeps the result, with a hint, when the user declines", async () => {
    const { events } = await run(
      `touch ${outside}/file`,
      { access: reading(outside) },
      ["cancel"],
    );
    expect(events.at(-1)).toMatchObject({
      value: {
        case: "error",
        value: {
          statusCode: 1,
          message: expect.stringMatching(
            /Read-only file system[\s\S]*the user declined write access/,
          ),
        },
      },
    });
  });

  it("asks for a hidden path, first to read and then to write it", async () => {
    const words = (
      await run(`ls ${outside} && touch ${outside}/file`, {}, [
        "proceed_once",
        "proceed_once",
      ])
    ).asked.map(
      ({ description }) => /with (read|write) access/.exec(description)?.[1],
    );
    expect(words).toEqual(["read", "write"]);
    expect(readdirSync(outside)).toEqual(["file"]);
  });

  it("keeps access that was granted for the task", async () => {
    const grants = new SandboxGrants();
    const first = await run(
      `touch ${outside}/1`,
      { grants, access: reading(outside) },
      ["proceed_for_task"],
    );
    const second = await run(`touch ${outside}/2`, {
      grants,
      access: reading(outside),
    });
    expect([first.asked.length, second.asked.length]).toEqual([1, 0]);
    expect(readdirSync(outside)).toEqual(["1", "2"]);
  });

  it("asks for the network, and then has it", async () => {
    const server = createServer((socket) => socket.end("reached")).listen(
      0,
      "127.0.0.1",
    );
    const { port } = Object(
      await new Promise((resolve) =>
        server.once("listening", () => resolve(server.address())),
      ),
    );
    const command = `cat </dev/tcp/127.0.0.1/${port} || { echo "connect: Network is unreachable"; exit 1; }`;
    const { asked, text } = await run(command, {}, ["proceed_once"]);
    expect(asked[0]?.description).toContain("access to the network");
    expect(text).toBe("reached");
    server.close();
  });

  it("asks to run a command without a sandbox if it needs a privilege, and never remembers the answer", async () => {
    const grants = new SandboxGrants();
    const command = `test -e ${outside} || { echo "mount: Operation not permitted"; exit 1; }`;
    for (let round = 0; round < 2; round++) {
      const { asked, events } = await run(command, { grants }, [
        "proceed_without_sandbox",
      ]);
      expect(asked[0]).toMatchObject({
        description: expect.stringContaining("with no sandbox"),
        options: [{ id: "proceed_without_sandbox" }, { id: "cancel" }],
      });
      expect(events.at(-1)).toMatchObject({ value: { case: "output" } });
      expect(
        events.filter((event) => event.case === "process").at(-1),
      ).toMatchObject({ value: { sandbox: "none" } });
    }
  });

  it("never offers access to hidden files, whatever the command prints", async () => {
    const { asked } = await run(
      `echo "touch: cannot touch '${hidden}/x': Read-only file system"; exit 1`,
      {},
      ["cancel"],
    );
    expect(asked[0]?.description).toContain("with no sandbox");
  });

  it("asks at most a few times, never twice for the same access, and not for a command that fails by itself", async () => {
    const always = Array.from({ length: 9 }, () => "proceed_once");
    const denial = (path: string): string =>
      `echo "touch: cannot touch '${path}': Read-only file system"`;
    expect(
      (await run(`${denial(outside)}; exit 1`, {}, ["proceed_once", "cancel"]))
        .asked,
    ).toHaveLength(2);
    const unseen = join(outside, "link");
    symlinkSync(outside, unseen);
    expect((await run(`cat ${unseen}/x`, {}, always)).asked).toHaveLength(1);
    const places = ["a", "b", "c", "d", "e"].map((name) => join(outside, name));
    for (const place of places) mkdirSync(place);
    const lying = places
      .map((place) => `test -w ${place} || { ${denial(place)}; exit 1; }`)
      .join("\n");
    expect((await run(`${lying}\nexit 1`, {}, always)).asked).toHaveLength(3);
    expect(
      (await run("cat missing; cat /tmp/missing; touch /tmp/x; exit 3")).asked,
    ).toEqual([]);
    writeFileSync(join(root, "locked"), "", { mode: 0o000 });
    expect(
      (await run("echo 'cat: locked: Permission denied'; exit 1")).asked,
    ).toEqual([]);
  });

  it("lets git commit when .git was granted, but not change its hooks and configuration", async () => {
    execFileSync("git", ["init", "--quiet", root]);
    const commit =
      "git -c user.name=a -c user.email=a@b commit --quiet --allow-empty -m one";
    const { asked, events } = await run(commit, {}, ["proceed_once"]);
    expect(asked[0]?.description).toContain(`write access to "${root}/.git"`);
    expect(events.at(-1)).toMatchObject({ value: { case: "output" } });
    expect(
      execFileSync("git", ["log", "--format=%s"], {
        cwd: root,
        encoding: "utf8",
      }),
    ).toBe("one\n");
    const hook = await run(
      "echo evil >.git/hooks/pre-commit",
      { grants: granting(join(root, ".git")) },
      ["cancel"],
    );
    const config = await run(
      "git config core.fsmonitor evil",
      { grants: granting(join(root, ".git")) },
      ["cancel"],
    );
    const swap = await run(
      "mv .git old",
      { grants: granting(join(root, ".git")) },
      ["cancel"],
    );
    for (const { asked } of [hook, config, swap]) {
      expect(asked[0]?.description).toContain("no sandbox");
    }
    expect(existsSync(join(root, ".git/hooks/pre-commit"))).toBe(false);
  });

  it("also ends processes that left its process group when it is canceled", async () => {
    const stop = new AbortController();
    const sleeping = `sleep ${process.pid}2.1`;
    const running = run(
      `(trap '' TERM; setsid ${sleeping} &) ; ${sleeping} & wait`,
      {},
      [],
      stop.signal,
    );
    const ended = running.catch(() => "ended");
    await until(() => countProcesses(sleeping) === 2);
    stop.abort();
    expect(await ended).toBe("ended");
    expect(countProcesses(sleeping)).toBe(0);
  });

  it("lets a canceled command clean up", async () => {
    const stop = new AbortController();
    const command =
      "trap 'echo orderly >end; exit' TERM; touch begun; while :; do sleep 0.01; done";
    const running = run(command, {}, [], stop.signal).catch(() => "ended");
    await until(() => existsSync(join(root, "begun")));
    stop.abort();
    await running;
    expect(fileText(root, "end")).toBe("orderly\n");
  });

  it("runs in the directory that the user saw, or not at all", async () => {
    mkdirSync(join(root, "sub"));
    const tool = runShellCommandTool(workspace, options());
    const invocation = await tool.prepare(
      { command: "pwd", directory: "sub" },
      signal(),
    );
    rmSync(join(root, "sub"), { recursive: true });
    expect(() => invocation.execute(signal())).toThrow("does not exist");
  });

  describe("confined to reading, without approval", () => {
    it("changes nothing, has no granted access, and is limited", async () => {
      const grants = granting(outside);
      const command = `touch here; touch ${outside}/there; ulimit -d; ulimit -t; stat -fc '%b %S' /tmp /var/tmp; exit 0`;
      const { text, asked } = await read(command, { grants });
      expect(text).toContain(
        "touch: cannot touch 'here': Read-only file system",
      );
      expect(text).toContain(
        `touch: cannot touch '${outside}/there': No such file or directory`,
      );
      const [memory, seconds, ...sizes] = text.trim().split("\n").slice(2);
      expect([memory, seconds]).toEqual(["1048576", "60"]);
      for (const size of sizes) expect(productOf(size)).toBe(64 * 1024 * 1024);
      expect(asked).toEqual([]);
    });

    it("asks only to read more, and not for the task", async () => {
      putFile(outside, "file", "content");
      const { asked, text } = await read(`cat ${outside}/file`, {}, [
        "proceed_once",
      ]);
      expect(asked.map(({ options }) => options.map(({ id }) => id))).toEqual([
        ["proceed_once", "cancel"],
      ]);
      expect(text).toBe("content");
      for (const command of [
        "touch here",
        `touch ${outside}/x`,
        "echo sudo: Operation not permitted; exit 1",
      ]) {
        expect(
          (await read(command, { access: reading(outside) })).asked,
        ).toEqual([]);
      }
    });

    it("does not run without a sandbox", async () => {
      await expect(
        read("echo hi", { sandbox: () => Promise.resolve(noSandbox("")) }),
      ).rejects.toThrow("cannot be confined to reading");
    });
  });

  it("runs a command that was approved with a sandbox only in one", async () => {
    const sandboxes = [sandbox, noSandbox("")];
    const tool = runShellCommandTool(
      workspace,
      options({ sandbox: async () => sandboxes.shift() ?? sandbox }),
    );
    const invocation = await tool.prepare({ command: "touch made" }, signal());
    expect(invocation.description).toBe("Run touch made");
    await expect(Array.fromAsync(invocation.execute(signal()))).rejects.toThrow(
      "is no longer available",
    );
    expect(existsSync(join(root, "made"))).toBe(false);
  });

  it("runs again without a sandbox only in the directory that the user saw", async () => {
    mkdirSync(join(root, "sub"));
    const command = `rmdir ../sub; ln -s ${outside} ../sub; touch made; echo "sudo: Operation not permitted" >&2; exit 1`;
    const tool = runShellCommandTool(workspace, options());
    const invocation = await tool.prepare(
      { command: `${command} # sudo`, directory: "sub" },
      signal(),
    );
    await expect(
      play(invocation, ["proceed_without_sandbox"], signal()),
    ).rejects.toThrow("symbolic link");
    expect(existsSync(join(outside, "made"))).toBe(false);
  });

  it("says when there is no sandbox, and binds the approval to it", async () => {
    const tool = runShellCommandTool(
      workspace,
      options({ sandbox: () => Promise.resolve(noSandbox("why")) }),
    );
    const invocation = await tool.prepare({ command: "touch made" }, signal());
    expect(invocation).toMatchObject({
      description: "Run touch made (without a sandbox)",
      confinement: "none",
    });
  });

  it("shows no settings that are not there, and asks about those that a command makes (U3, U9)", async () => {
    expect((await run("touch a; ls -A")).text).toBe(".data\na\n");
    const made = "mkdir -p .vscode; touch .vscode/x";
    const place = join(root, ".vscode");
    const declined = await run(made);
    expect(declined.asked[0]?.description).toBe(
      `Run ${made}, again and with write access to "${place}"`,
    );
    expect(declined.text).toContain(`it is now "${place}.replaced-1"`);
    expect(declined.text).toMatch(/the user declined write access[^:]*\]$/);
    expect(existsSync(place)).toBe(false);
    await run(made, {}, ["proceed_once"]);
    expect(readdirSync(place)).toEqual(["x"]);
    const { text } = await run("echo mount: Operation not permitted; exit 1");
    expect(text).toMatch(/the user declined to run it without a sandbox\]$/);
  });

  describe("for a user with an identity in ~/.gitconfig (U2)", () => {
    const home = process.env.HOME;
    beforeEach(() => {
      process.env.HOME = outside;
      putFile(
        outside,
        ".gitconfig",
        '[user]\nname = "Ada \\"L\\" é"\nemail = ada@x\n[alias]\nleak = !touch leaked\n[includeIf "gitdir:**/sub/.git"]\npath = work\n',
      );
      putFile(outside, "work", "[user]\nemail = ada@work\n");
      git("init", "-q", "-b", "main");
      putFile(root, "a", "1");
    });
    afterEach(() => {
      process.env.HOME = home;
    });

    it("commits in its name after one question, which the approval of the call is", async () => {
      const tool = runShellCommandTool(workspace, options());
      const invocation = await tool.prepare(
        { command: "git add a && git commit -qm one" },
        signal(),
      );
      const access = [`write access to "${root}/.git"`];
      expect(invocation.access).toEqual(access);
      expect(invocation.description).toMatch(
        / \(with write access to "[^"]*"\)$/,
      );
      const approved = invocation.withAccess?.() ?? expect.unreachable();
      const { asked, events } = await play(approved, [], signal());
      expect(events.at(-1)).toMatchObject({ value: { case: "output" } });
      expect(asked).toEqual([]);
      expect(git("log", "--format=%an <%ae>")).toBe('Ada "L" é <ada@x>\n');
    });

    it("asks before it fails where no question approved the call, and says what was declined", async () => {
      const declined = await run("git add a");
      expect(declined.asked).toHaveLength(1);
      expect(declined.asked[0]?.description).toBe(
        `Run git add a, with write access to "${root}/.git"`,
      );
      expect(declined.text).toMatch(/Read-only[\s\S]*the user declined write/);
      const grants = new SandboxGrants();
      const first = await run("git add a", { grants }, ["proceed_for_task"]);
      expect(first.asked).toHaveLength(1);
      const later = await run("git commit -qm one", { grants });
      expect([later.asked, later.text]).toEqual([[], ""]);
    });

    it("shows nothing else of the configuration, and lets the repository's win", async () => {
      const all = await run("git config --list; git leak; cat ~/.gitconfig");
      expect(all.text).not.toMatch(/alias|includeif/i);
      expect(existsSync(join(root, "leaked"))).toBe(false);
      git("config", "user.email", "ada@repo");
      const { text } = await run("git config user.name; git config user.email");
      expect(text).toBe('Ada "L" é\nada@repo\n');
    });

    it("works in a subdirectory of a repository, whose other files are seen and not changed", async () => {
      const sub = join(root, "sub");
      mkdirSync(join(sub, "deep"), { recursive: true });
      git("add", "a");
      git("-c", "user.name=a", "-c", "user.email=a@x", "commit", "-qm", "zero");
      using inner = new Workspace(sub);
      const tool = runShellCommandTool(inner, options());
      const invocation = await tool.prepare(
        { command: "touch b && git add . && git commit -qam one; touch ../c" },
        signal(),
      );
      expect(invocation.access).toEqual([
        `read access to "${root}"`,
        `write access to "${root}/.git"`,
      ]);
      const approved = invocation.withAccess?.() ?? expect.unreachable();
      await play(approved, [], signal());
      expect(git("show", "--stat", "--format=%ae")).toMatch(
        /^ada@x\n\n sub\/b \| 0\n 1 file/,
      );
      expect(existsSync(join(root, "c"))).toBe(false);
      const status = await tool.prepare({ command: "git status" }, signal());
      const reads = status.confinedToReading?.() ?? expect.unreachable();
      const read = await play(reads, ["proceed_once"], signal());
      expect(read.asked).toHaveLength(1);
      expect(read.text).toMatch(/On branch main[\s\S]*nothing to commit/);
      const script = await tool.prepare(
        { command: "bash -c 'git log --oneline'" },
        signal(),
      );
      const logged = await play(script, ["proceed_once"], signal());
      expect(logged.asked[0]?.description).toContain(
        `again and with read access to "${root}"`,
      );
      expect(logged.text).toMatch(/one\n.*zero/);
    });

    it("takes the identity that the user has for this repository", async () => {
      const sub = join(root, "sub");
      mkdirSync(sub);
      execFileSync("git", ["init", "-q"], { cwd: sub });
      using inner = new Workspace(sub);
      const tool = runShellCommandTool(inner, options());
      const command = "git config user.email";
      const invocation = await tool.prepare({ command }, signal());
      expect((await play(invocation, [], signal())).text).toBe("ada@work\n");
    });

    it("does not ask for a command that only reads, or that no repository needs", async () => {
      for (const command of [
        "git branch -a",
        "git stash list",
        "git log",
        "git tag",
        "echo git commit",
        "git worktree list",
      ]) {
        const tool = runShellCommandTool(workspace, options());
        const { access } = await tool.prepare({ command }, signal());
        expect(access, command).toBeUndefined();
      }
    });

    function git(...args: string[]): string {
      return execFileSync("git", args, { cwd: root, encoding: "utf8" });
    }
  });

  function options(more: Partial<ShellOptions> = {}): ShellOptions {
    const environment = { PATH, HOME: root };
    return {
      environment,
      timeoutMs: 120_000,
      maxOutputLength: 4000,
      sandbox: () => Promise.resolve(sandbox),
      ...more,
    };
  }

  async function run(
    command: string,
    more: Partial<ShellOptions> = {},
    answers: readonly string[] = [],
    until = signal(),
  ): Promise<Played> {
    const args: JsonObject = { command };
    return play(
      await runShellCommandTool(workspace, options(more)).prepare(args, until),
      answers,
      until,
    );
  }

  async function read(
    command: string,
    more: Partial<ShellOptions> = {},
    answers: readonly string[] = [],
  ): Promise<Played> {
    const invocation = await runShellCommandTool(
      workspace,
      options(more),
    ).prepare({ command }, signal());
    const confined = invocation.confinedToReading?.() ?? expect.unreachable();
    return play(confined, answers, signal());
  }

  async function play(
    invocation: ToolInvocation,
    answers: readonly string[],
    until: AbortSignal,
  ): Promise<Played> {
    const events: ToolEvent[] = [];
    const asked: Question[] = [];
    for await (const event of invocation.execute(until)) {
      events.push(event);
      if (event.case !== "question") continue;
      event.reply({ optionId: answers[asked.length] ?? "cancel", text: "" });
      asked.push(event.value);
    }
    return { events, asked, text: textOf(events.at(-1)) };
  }
});

/** The events and questions of a command. */
interface Played {
  readonly events: ToolEvent[];
  readonly asked: Question[];
  readonly text: string;
}

/** Returns the product of two numbers in a line. */
function productOf(line: string): number {
  return line
    .split(" ")
    .reduce((product, factor) => product * Number(factor), 1);
}

function reading(path: string): Omit<SandboxAccess, "workspace"> {
  return { readable: [path], writable: [], network: "none" };
}

function granting(path: string): SandboxGrants {
  const grants = new SandboxGrants();
  grants.add({ case: "write", path });
  return grants;
}

function textOf(event: ToolEvent | undefined): string {
  if (event?.case !== "result") return "";
  const { value } = event;
  if (value.case === "error") return value.value.message;
  return value.value.result.case === "text" ? value.value.result.value : "";
}

function signal(): AbortSignal {
  return AbortSignal.timeout(60_000);
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setImmediate(resolve));
}
