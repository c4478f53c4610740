import { execFileSync } from "node:child_process";
import { open, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { subscribeTask } from "@devtool/client";
import { serveCodingAgent } from "@devtool/coding-agent";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { ApprovalMode, type TaskEvent } from "@devtool/schema";
import type { DevtoolServer } from "@devtool/server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { FakeTerminal } from "../../test/fake-terminal.ts";
import { createClient } from "../connection/connection.ts";
import { runProgram } from "../program.ts";
import { pipedIo, runCommand } from "../testing/run-command.ts";

describe("the prompt of devtool run", () => {
  let server: DevtoolServer;
  let workspace: string;

  beforeAll(async () => {
    workspace = temporaryDirectory();
    server = await serveCodingAgent({ workspace, sandbox: "none" });
  });
  afterAll(() => server.close());

  it.each([
    ["-", ["-"]],
    ["nothing", []],
  ])("is standard input for %s, as one message", async (_what, words) => {
    const { code, out } = await run(words, {
      stdin: "text Grüße an 👩‍👩‍👧\ntext and more\n\n",
    });
    expect([code, out]).toEqual([0, "Grüße an 👩‍👩‍👧and more\n"]);
  });

  it("is the content of --prompt-file", async () => {
    const file = join(workspace, "prompt.txt");
    await writeFile(file, "\ufefftext From a file.\r\n");
    const { code, out } = await run(["--prompt-file", file]);
    expect([code, out]).toEqual([0, "From a file.\n"]);
  });

  it("is that of the command line when there is one, and standard input is not read", async () => {
    const { code, out } = await run(["text Here."], { stdin: "text There." });
    expect([code, out]).toEqual([0, "Here.\n"]);
  });

  it.each([
    ["a file", async (path: string) => writeFile(path, "text There.")],
    ["a pipe", async (path: string) => execFileSync("mkfifo", [path])],
  ])(
    "is that of the command line, and a line says so, when standard input is %s",
    async (what, make) => {
      const path = join(workspace, what);
      await make(path);
      await using input = await open(path, "r+");
      const { io, out, err } = pipedIo();
      // As `process.stdin` is.
      const stdin = Object.assign(new PassThrough(), { fd: input.fd });
      const words = [
        "run",
        "--url",
        server.url,
        "--token",
        server.token,
        "text Here.",
      ];
      expect([await runProgram(words, { ...io, stdin }), out()]).toEqual([
        0,
        "Here.\n",
      ]);
      expect(err()).toMatch(
        /^devtool: standard input is ignored, because the prompt is given elsewhere; to send both, pipe both into devtool run -\ntask \S+\n$/,
      );
      await rm(path);
    },
  );

  it("is refused when its file cannot be read", async () => {
    const file = join(workspace, "missing.txt");
    const { code, err } = await run(["--prompt-file", file]);
    expect(code).toBe(1);
    expect(err).toContain(
      `devtool: prompt file "${file}" cannot be read: ENOENT: no such file or directory`,
    );
  });

  const refused: readonly {
    readonly what: string;
    readonly words: readonly string[];
    readonly stdin?: string;
    readonly says: string;
  }[] = [
    {
      what: "an empty one",
      words: [" "],
      says: "the prompt is empty: say what the agent is to do",
    },
    {
      what: "an empty standard input",
      words: ["-"],
      stdin: "\n \n",
      says: "the prompt on standard input is empty",
    },
    { what: "words and -", words: ["-", "text x"], says: "too many arguments" },
    {
      what: "words and a file",
      words: ["text x", "--prompt-file", "f"],
      says: "both a prompt and --prompt-file are given",
    },
    {
      what: "- and a file",
      words: ["-", "--prompt-file", "f"],
      says: "both standard input (-) and --prompt-file are given",
    },
    {
      what: "an unknown mode",
      words: ["text x", "--approval-mode", "auto"],
      says: "Allowed choices are default, plan, auto-edit, yolo",
    },
  ];
  for (const { what, words, stdin, says } of refused) {
    it(`is refused as a usage error: ${what}`, async () => {
      const { code, err, out } = await run(words, { stdin: stdin ?? "" });
      expect(err).toContain(says);
      expect([code, out]).toEqual([2, ""]);
    });
  }

  it("is refused at a terminal when there is none", async () => {
    const terminal = new FakeTerminal();
    const stdin = Object.assign(new PassThrough(), { isTTY: true });
    expect(
      await runProgram(["run", "--url", server.url], { ...terminal.io, stdin }),
    ).toBe(2);
    expect(terminal.said).toContain("there is no prompt: give one in quotes");
  });

  it.each([
    [
      "bytes that are not UTF-8",
      Buffer.from([0xff, 0xfe, 0x41]),
      "standard input is not UTF-8 text",
    ],
    [
      "more than 1 MiB",
      Buffer.alloc(1024 * 1024 + 1, "x"),
      "standard input is too large for a prompt: limit is 1048576 bytes",
    ],
  ])("is refused for %s", async (_what, stdin, says) => {
    const { code, err } = await run(["-"], { stdin });
    expect(err).toBe(`devtool: ${says}\n`);
    expect(code).toBe(1);
  });

  it("has the model and the approval mode of the command line, and the command names itself", async () => {
    const { events } = await run([
      "--model",
      "conformance-first",
      "--approval-mode",
      "plan",
      "--json",
      "write no.txt no",
    ]);
    const [first] = events;
    const created =
      first?.payload.case === "created" ? first.payload.value : undefined;
    expect(created?.sessionSettings).toMatchObject({
      model: "conformance-first",
      approvalMode: ApprovalMode.PLAN,
    });
    expect(await readdir(workspace)).not.toContain("no.txt");
    const asked = await run(["--approve", "all", "write yes.txt yes"]);
    expect(
      asked.events.findLast(({ toolCallDetail }) => toolCallDetail?.answerer)
        ?.toolCallDetail?.answerer?.clientLabel,
    ).toBe("devtool run");
  });

  it("is refused with an approval mode that allows more than the operator's", async () => {
    const data = temporaryDirectory();
    const { code, err } = await run(
      [
        "--data",
        data,
        "--workspace",
        workspace,
        "--approval-mode",
        "auto_edit",
        "text x",
      ],
      { url: false },
    );
    expect(err).toContain(
      'approval mode "auto-edit" allows more than "default", the operator\'s',
    );
    expect(code).toBe(1);
  });

  it("is refused in a task with an approval mode beyond the task's limit", async () => {
    const begun = await run(["--json", "text Begun."]);
    const id = begun.events[0]?.taskId ?? "";
    const mode = ["--task", id, "--approval-mode"];
    const { code, err, out } = await run([...mode, "auto-edit", "text On."]);
    expect(err).toContain(
      'approval mode "auto-edit" allows more than "default", with which this conversation began',
    );
    expect([code, out]).toEqual([1, ""]);
    expect((await run([...mode, "plan", "text On."])).code).toBe(0);
  });

  it("leaves what the agent said last in --output-last-message", async () => {
    const file = join(workspace, "last.txt");
    await writeFile(file, "old");
    const prompt = "text Before.\nread prompt.txt\ntext The end 👩‍👧.";
    const { code } = await run(["--output-last-message", file, prompt]);
    expect([code, await readFile(file, "utf8")]).toEqual([0, "The end 👩‍👧."]);
  });

  it("does not start when the file for the last message cannot be written", async () => {
    const file = join(workspace, "no/last.txt");
    const { code, err, out } = await run([
      "--output-last-message",
      file,
      "text Hi.",
    ]);
    expect([code, out]).toEqual([1, ""]);
    expect(err).toContain(
      `devtool: file "${file}" for the last message cannot be written: ENOENT`,
    );
  });

  async function run(
    words: readonly string[],
    {
      stdin = "",
      url = true,
    }: { readonly stdin?: string | Buffer; readonly url?: boolean } = {},
  ): Promise<{
    readonly code: number;
    readonly out: string;
    readonly err: string;
    readonly events: readonly TaskEvent[];
  }> {
    const where = url ? ["--url", server.url, "--token", server.token] : [];
    return {
      ...(await runCommand(["run", ...where, ...words], { stdin })),
      events: await lastEvents(),
    };
  }

  /** Returns the events of the newest task. */
  async function lastEvents(): Promise<readonly TaskEvent[]> {
    const client = await createClient(server, "connect");
    const [last] = (await client.tasks.listTasks({ pageSize: 1 })).tasks;
    if (!last) return [];
    return Array.fromAsync(
      subscribeTask(client, { taskId: last.id }, AbortSignal.timeout(180_000)),
    );
  }
});
