import { readdir } from "node:fs/promises";
import { PassThrough } from "node:stream";
import type { DevtoolClient } from "@devtool/client";
import { serveCodingAgent } from "@devtool/coding-agent";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import type { Task } from "@devtool/schema";
import type { DevtoolServer } from "@devtool/server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { FakeTerminal } from "../../test/fake-terminal.ts";
import { createClient } from "../connection/connection.ts";
import { runProgram } from "../program.ts";
import { runCommand } from "../testing/run-command.ts";

describe("the exit code of devtool run and exec", () => {
  let server: DevtoolServer;
  let workspace: string;
  let place: readonly string[];

  beforeAll(async () => {
    workspace = temporaryDirectory();
    server = await serveCodingAgent({ workspace, sandbox: "none" });
    place = ["--url", server.url, "--token", server.token];
  });
  afterAll(() => server.close());

  const cases: readonly {
    readonly what: string;
    readonly words: readonly string[];
    readonly code: number;
  }[] = [
    {
      what: "0 when nothing was asked",
      words: ["run", "text Hello."],
      code: 0,
    },
    {
      what: "3 when something was declined because nobody could be asked",
      words: ["run", "write a.txt a"],
      code: 3,
    },
    {
      what: "0 when the user wanted all to be declined",
      words: ["run", "--approve", "never", "write b.txt b"],
      code: 0,
    },
    {
      what: "3 when a command was declined as well",
      words: ["exec", "/shell", "touch c.txt"],
      code: 3,
    },
    {
      what: "0 when a command went well",
      words: ["exec", "--approve", "all", "/shell", "true"],
      code: 0,
    },
    {
      what: "1 when a command failed",
      words: ["exec", "--approve", "all", "/shell", "exit 3"],
      code: 1,
    },
    {
      what: "0 when an agent went on after a call that failed",
      words: ["run", "read nothing.txt"],
      code: 0,
    },
  ];
  for (const { what, words, code } of cases) {
    it(`is ${what}`, async () => {
      const [command = "", ...rest] = words;
      expect(
        await runCommand([
          command,
          "--url",
          server.url,
          "--token",
          server.token,
          ...rest,
        ]),
      ).toMatchObject({
        code,
      });
    });
  }

  it("is 0 for a command about the conversation of a task, and 1 for a task that is not there", async () => {
    const ran = await runCommand(["run", ...place, "text Hello."]);
    const [, id = ""] = /^task (\S{36})$/m.exec(ran.err) ?? [];
    const asked = ["exec", ...place, "--task"];
    const stats = await runCommand([...asked, id.slice(0, 8), "/stats"]);
    expect(stats).toMatchObject({
      code: 0,
      out: expect.stringMatching(new RegExp(`^task: ${id}\n`)),
    });
    expect((await runCommand([...asked, "nope", "/stats"])).code).toBe(1);
  });

  it("is 1 for a directory that only another system than the server's could have, which is named as it was given", async () => {
    const { code, err } = await runCommand([
      ...["run", ...place, "--workspace", "C:\\work", "say 1"],
    ]);
    expect(code).toBe(1);
    expect(err).toContain(
      '"C:\\\\work" must be an absolute path of the server',
    );
  });

  it("is 3 when the person leaves the question open", async () => {
    const terminal = new FakeTerminal();
    const code = run(terminal, "write d.txt d");
    await terminal.shows("choose > ");
    terminal.press("\u0004");
    expect(await code).toBe(3);
    expect(terminal.said).toMatch(
      /\n.{0,8}task [\w-]+, waits for you: answer with devtool chat --task [\da-f]{8} --url http:\S+\n$/,
    );
    expect(await readdir(workspace)).toEqual([]);
  });

  it("is 130 after Ctrl-C at a question, which names a task to go on with", async () => {
    const terminal = new FakeTerminal();
    const code = run(terminal, "write f.txt f");
    await terminal.shows("choose > ");
    terminal.interrupt();
    expect(await code).toBe(130);
    const [, id = ""] =
      /\n.{0,8}task [\w-]+ was canceled: go on with --task ([\da-f]{8}) /.exec(
        terminal.said,
      ) ?? [];
    expect(id).not.toBe("");
    expect(
      await runCommand(["run", ...place, "--task", id, "text On."]),
    ).toMatchObject({ code: 0, out: expect.stringContaining("On.") });
  });

  it("is 130 after Ctrl-C at a question of a slash command, whose task can be watched", async () => {
    const terminal = new FakeTerminal();
    const words = ["exec", ...place, "/shell", "touch g.txt"];
    const code = runProgram(words, terminal.io);
    await terminal.shows("choose > ");
    terminal.interrupt();
    expect(await code).toBe(130);
    const [, id = ""] =
      /\n.{0,8}task [\w-]+ was canceled: devtool watch (\S+) shows what/.exec(
        terminal.said,
      ) ?? [];
    expect(await runCommand(["watch", ...place, id])).toMatchObject({
      code: 130,
      out: expect.stringContaining("touch g.txt"),
    });
  });

  it("asks beside the lines of JSON, not among them", async () => {
    const terminal = new FakeTerminal();
    let printed = "";
    const stdout = new PassThrough().on("data", (chunk) => (printed += chunk));
    const words = [
      "run",
      "--json",
      "--url",
      server.url,
      "--token",
      server.token,
      "write e.txt e",
    ];
    const code = runProgram(words, { ...terminal.io, stdout });
    await terminal.shows("choose > ");
    terminal.press("n\r");
    expect(await code).toBe(0);
    expect(
      printed
        .trimEnd()
        .split("\n")
        .map((line) => typeof JSON.parse(line)),
    ).not.toContain("string");
  });

  function run(terminal: FakeTerminal, prompt: string): Promise<number> {
    return runProgram(
      ["run", "--url", server.url, "--token", server.token, prompt],
      terminal.io,
    );
  }
});

describe("devtool run --fork", () => {
  let server: DevtoolServer;
  let client: DevtoolClient;
  let taskId: string;

  beforeAll(async () => {
    const workspace = temporaryDirectory();
    server = await serveCodingAgent({ workspace, sandbox: "none" });
    client = await createClient(server, "connect");
    taskId = await played("text One.");
    await played("text Two.", "--task", taskId);
  });
  afterAll(() => server.close());

  it.each([
    ["from the end", "nothing"],
    ["from before a message, by its number", "number"],
    ["from before a message, by its id", "id"],
  ])("goes on in a new conversation %s", async (_where, named) => {
    const first = await taskOf(taskId);
    const id = first?.history[2]?.messageId ?? "";
    const before =
      { nothing: [], number: ["--before", "2"], id: ["--before", id] }[named] ??
      [];
    const flags = ["--task", taskId, "--fork", ...before];
    const fork = await taskOf(await played("text Else.", ...flags));
    expect(fork?.contextId).not.toBe(first?.contextId);
    expect(fork?.history[0]?.fork).toMatchObject({
      taskId,
      beforeMessageId: named === "nothing" ? "" : id,
    });
    expect(await taskOf(taskId)).toEqual(first);
  });

  it("needs a conversation, and a message that there is", async () => {
    expect(await command("text Else.", "--fork")).toMatchObject({
      code: 2,
      err: expect.stringContaining("--fork needs a conversation"),
    });
    const far = await command("text No.", "--task", taskId, "--before", "7");
    expect(far.code).toBe(1);
    expect(far.err).toContain(
      "--before 7: the conversation has 2 messages of yours",
    );
  });

  function command(...words: readonly string[]) {
    const place = ["--url", server.url, "--token", server.token];
    return runCommand(["run", ...place, ...words]);
  }

  /** Runs a job, and returns the id of its task. */
  async function played(...words: readonly string[]): Promise<string> {
    const { err } = await command(...words);
    return /task ([\w-]+)/.exec(err)?.[1] ?? expect.fail(err);
  }

  async function taskOf(id: string): Promise<Task | undefined> {
    return (await client.tasks.getTask({ taskId: id })).task;
  }
});
