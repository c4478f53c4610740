import { chmod, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import type { DevtoolClient } from "@devtool/client";
import { serveCodingAgent } from "@devtool/coding-agent";
import { fileText, putFile } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { ApprovalMode, type Message, Role } from "@devtool/schema";
import { ServerInfoSchema } from "@devtool/schema/operator";
import type { DevtoolServer } from "@devtool/server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CTRL_C, type Dialog, FakeTerminal } from "../../test/fake-terminal.ts";
import type { ChatOptions } from "../chat-options.ts";
import { createClient } from "../connection/connection.ts";
import { writeDiscovery } from "../connection/discovery.ts";
import type { Io } from "../io.ts";
import { pipedIo, runCommand } from "../testing/run-command.ts";
import { chat } from "./chat.ts";

/** The prompt for a message, on a line that was cleared. */
const PROMPT = "\u001b[0J> ";

describe("devtool chat", () => {
  let server: DevtoolServer;
  let workspace: string;
  let client: DevtoolClient;

  beforeAll(async () => {
    workspace = temporaryDirectory();
    server = await serveCodingAgent({ workspace, sandbox: "none" });
    client = await createClient(server, "connect");
  });
  afterAll(() => server.close());

  it("runs slash commands between messages, and asks what they ask", async () => {
    const { terminal, code } = start();
    await terminal.play(
      ["", "text Hello.\r/about\r"],
      ["model: scripted", "/shell touch x; echo from the shell\r"],
      ["choose > ", "y\r"],
      ["  │ from the shell\n", "/exit\r"],
    );
    expect(terminal.said).toContain("Hello.");
    expect(terminal.said).toContain("$ touch x; echo from the shell");
    expect(await code).toBe(0);
  });

  it("says why a command does not start, and goes on", async () => {
    const { said, erred } = await read([
      "/abuot",
      "/shell",
      "text Still here.",
      "/exit",
    ]);
    expect(erred).toContain("/abuot does not exist: did you mean /about?");
    expect(erred).toContain("/shell needs <command>: the command line to run");
    expect(said).toContain("Still here.");
  });

  it("sends as messages what only begins with a slash", async () => {
    const { said, erred } = await read([
      "/etc/passwd is a path",
      "//help",
      "/exit",
    ]);
    expect(said.split("This is the scripted agent")).toHaveLength(3);
    expect(erred).toBe("");
  });

  it("keeps commands and messages in one context and messages in one task", async () => {
    const { said } = await read(
      ["/help", "write one.txt 1", "read one.txt", "/exit"],
      { approve: "all" },
    );
    expect(said).toContain("/help - Lists the slash commands");
    expect(said).toContain("read_file: 1");
  });

  it("runs a command of a continued conversation in the mode of the command line", async () => {
    await read(["text Begun.", "/exit"]);
    const lines = ["/shell touch planned.txt", "/exit"];
    const { said } = await read(lines, {
      continue: true,
      approvalMode: "plan",
      approve: "all",
    });
    expect(said).toContain("run_shell_command");
    expect(await readdir(workspace)).not.toContain("planned.txt");
  });

  it("attaches the files of the workspace that a message mentions, and tells which it does not", async () => {
    const data = join(workspace, ".data");
    const { url, token, proofKey } = server;
    await writeDiscovery(
      data,
      create(ServerInfoSchema, { url, token, proofKey, workspace }),
    );
    putFile(workspace, "note.md", "The words of the note.");
    const lines = [
      "think of @note.md, not of @/etc/passwd.",
      "/about @picture.png",
      "/exit",
    ];
    const { said, erred } = await read(lines, { data });
    const place = ["--url", url, "--token", token];
    const { out } = await runCommand(["tasks", "--json", ...place]);
    const [, id = ""] = /"id":"([\da-f-]+)"/.exec(out) ?? [];
    expect((await runCommand(["watch", "--json", ...place, id])).out).toContain(
      '"text":"The words of the note.","fileName":"note.md"',
    );
    expect(said).toContain('"/etc/passwd" is outside the workspace');
    expect(erred).toContain(
      "a slash command takes no images: leave out @picture.png",
    );
  });

  it("declines where nobody can be asked, takes no line for an answer, and ends with 3", async () => {
    const { said, erred, code } = await read([
      "write two.txt 2",
      "y",
      "text Not now.",
    ]);
    expect(erred).toBe(
      "declined write_file: nobody can be asked (see --approve)\n",
    );
    expect(said).toContain("Not now.");
    expect(await readdir(workspace)).not.toContain("two.txt");
    expect(code).toBe(3);
  });

  it.each([
    ["Ctrl-C", CTRL_C, "/exit"],
    ["Esc", "\u001b", "/quit"],
  ])("cancels a message with %s and goes on", async (_name, key, leave) => {
    await talk(
      ["", "say 1\\\rwait 600000\r"],
      ["chunk 1", key],
      ["canceled", "text After.\r"],
      ["After.\n", `${leave}\r`],
    );
  });

  it("empties a line that is half typed with Ctrl-C, and leaves with the next one", async () => {
    const said = await talk(
      [PROMPT, "text gone"],
      ["text gone", CTRL_C],
      ["", "text Kept.\r"],
      ["Kept.\n"],
      [PROMPT, CTRL_C],
    );
    expect(said).not.toContain("gonetext");
  });

  it("cancels a command with Ctrl-C, also while it asks, and goes on", async () => {
    const said = await talk(
      ["", "/shell sleep 600\r"],
      ["choose > ", CTRL_C],
      ["canceled", "/about\r/exit\r"],
    );
    expect(said).toContain("model: scripted");
  });

  it("completes commands with Tab", async () => {
    await talk(
      ["> ", "/ab\t\r"],
      ["model: scripted", "/memory sh\t\r"],
      ["There are no memory files for this workspace.", "/exit\r"],
    );
  });

  it("leaves at a second Ctrl-C", async () => {
    const { terminal, code } = start();
    await terminal.play(
      ["", "/shell sleep 600\r"],
      ["choose > ", "y\r"],
      ["▸ run_shell_command", CTRL_C + CTRL_C],
    );
    expect(await code).toBe(130);
  });

  it("takes no answer that was typed before its question was drawn", async () => {
    // The keys are there before the message is sent, so before any question.
    await talk(
      ["", "write early.txt early\ry\rtext half a mess"],
      ["· queued: y\n"],
      ["· kept for your next message: text half a mess\n"],
      ["choose > ", "n\r"],
      ["- write_file"],
      ["> y\n"],
      ["This is the scripted agent"],
      ["> text half a mess", "age\r"],
      ["half a message\n", "/exit\r"],
    );
    expect(await readdir(workspace)).not.toContain("early.txt");
  });

  it.each([
    ["that is marked as such", (terminal: FakeTerminal) => terminal.paste("y")],
    ["that ends with Enter", (terminal: FakeTerminal) => terminal.paste("y\r")],
    [
      "that is not marked",
      (terminal: FakeTerminal) => terminal.send("y\rtext and so on"),
    ],
  ])(
    "takes no paste for an approval, one %s, and keeps it",
    async (_what, paste) => {
      const { terminal, code } = start();
      terminal.press("write pasted.txt pasted\r");
      await terminal.shows("choose > ");
      paste(terminal);
      await terminal.play(
        ["· kept for your next message: y", "n\r"],
        ["- write_file"],
        [PROMPT, CTRL_C + CTRL_C],
      );
      expect(await code).toBe(0);
      expect(await readdir(workspace)).not.toContain("pasted.txt");
    },
  );

  it("sends a paste of many lines as one message", async () => {
    const { terminal, code } = start();
    await terminal.shows("> ");
    terminal.paste(
      Array.from({ length: 30 }, (_, line) => `text line ${line + 1}\\n`).join(
        "\r",
      ),
    );
    await terminal.play(
      ["[paste 1: 30 lines]", "\r"],
      ["line 30\n", "/exit\r"],
    );
    expect(await code).toBe(0);
    expect(terminal.said.match(/^line \d+$/gm)).toHaveLength(30);
  });

  it("asks again after an edit that failed, and goes on", async () => {
    await talk(
      ["", "write edited.txt first\r"],
      ["choose > ", "e\r"],
      ["no editor is set: start this command with EDITOR=vi, for example"],
      ["choose > ", "y\r"],
      ["✓ write_file", "/exit\r"],
    );
    expect(fileText(workspace, "edited.txt")).toBe("first");
  });

  it("asks again after an editor that failed, and takes what the next one made", async () => {
    const editor = join(workspace, "editor.sh");
    await writeFile(
      editor,
      `#!/bin/sh\n[ -e "$0.ran" ] || { touch "$0.ran"; exit 4; }\necho second >"$1"\n`,
    );
    await chmod(editor, 0o700);
    const { terminal, code } = start({
      ...process.env,
      NO_COLOR: "1",
      VISUAL: editor,
    });
    await terminal.play(
      ["", "write mine.txt first\r"],
      ["choose > ", "e\r"],
      ["the editor ended with 4: nothing was changed"],
      ["choose > ", "e\r"],
      ["✓ write_file", "/exit\r"],
    );
    expect(await code).toBe(0);
    expect(fileText(workspace, "mine.txt")).toBe("second\n");
  });

  it("puts a question again that was left open, before it sends the next message", async () => {
    await talk(
      ["", "write open.txt open\r"],
      ["choose > ", "\u0004"],
      [PROMPT, "text And now?\r"],
      ["choose > ", "y\r"],
      ["✓ write_file"],
      ["And now?\n", "/exit\r"],
    );
  });

  it("goes back to an earlier message with /rewind, in a new conversation", async () => {
    const said = await talk(
      ["", "/rewind\r"],
      ["· there is no message to go back to yet", "text One.\r"],
      ["One.\n", "text Two.\r"],
      ["Two.\n", "/rewind\r"],
      ["2  text Two.", "/rewind 3\r"],
      ["/rewind 3: the conversation has 2 messages of yours"],
      [PROMPT, "/rewind 2\r"],
      ["· kept for your next message: text Two.\n"],
      ["> text Two.", "\u0015text Else.\r"],
      ["Else.\n", "/exit\r"],
    );
    expect(said).toContain("1  text One.");
    expect(await newest()).toMatchObject({
      texts: ["text Else."],
      left: { texts: ["text One.", "text Two."], before: "text Two." },
    });
    await read(["text One.", "text Two.", "/rewind 1", "text Other.", "/exit"]);
    expect(await newest()).toMatchObject({
      texts: ["text Other."],
      left: { texts: ["text One.", "text Two."], before: "text One." },
    });
  });

  it("goes on in the task of a short id, whose next message has the settings of the command line", async () => {
    await read(["text Begun.", "/exit"]);
    const { tasks } = await client.tasks.listTasks({
      titleContains: "Begun",
      pageSize: 1,
    });
    const taskId = tasks[0]?.id ?? "";
    const options = {
      task: taskId.slice(0, 8),
      model: "conformance-first",
      approvalMode: "plan",
      approve: "all",
    };
    const { code } = await read(
      ["write plan.txt plan", "text On.", "/exit"],
      options,
    );
    expect(code).toBe(0);
    const { task } = await client.tasks.getTask({ taskId });
    const sent = task?.history.filter(({ role }) => role === Role.USER);
    expect(sent?.map(({ model }) => model)).toEqual([
      "",
      "conformance-first",
      "conformance-first",
    ]);
    expect(task?.sessionSettings?.approvalMode).toBe(ApprovalMode.PLAN);
    expect(await readdir(workspace)).not.toContain("plan.txt");
  });

  it.each(["--task", "--continue"])(
    "does not go on with %s in an approval mode beyond the conversation's limit",
    async (how) => {
      await read(["text Begun.", "/exit"]);
      const { tasks } = await client.tasks.listTasks({ pageSize: 1 });
      const named =
        how === "--task"
          ? { task: tasks[0]?.id ?? "" }
          : { continue: true as const };
      await expect(
        read(["text On.", "/exit"], { ...named, approvalMode: "yolo" }),
      ).rejects.toThrow(
        'approval mode "yolo" allows more than "default", with which this conversation began',
      );
    },
  );

  /** What was said in the newest task, and where it left another one. */
  async function newest() {
    const { tasks } = await client.tasks.listTasks({ pageSize: 1 });
    const [fork, ...said] = await saidIn(tasks[0]?.id ?? "");
    const left = await saidIn(fork?.fork?.taskId ?? "");
    return {
      texts: textsOf([...(fork ? [fork] : []), ...said]),
      left: {
        texts: textsOf(left),
        before: textsOf(
          left.filter(
            ({ messageId }) => messageId === fork?.fork?.beforeMessageId,
          ),
        ).join(),
      },
    };
  }

  async function saidIn(taskId: string): Promise<readonly Message[]> {
    const { task } = await client.tasks.getTask({ taskId });
    return task?.history.filter(({ role }) => role === Role.USER) ?? [];
  }

  function start(env?: Io["env"]): {
    readonly terminal: FakeTerminal;
    readonly code: Promise<number>;
  } {
    const terminal = new FakeTerminal(env);
    return {
      terminal,
      code: chat(
        { url: server.url, token: server.token, protocol: "connect" },
        terminal.io,
      ),
    };
  }

  /** Plays a chat that ends with 0, and returns all that it said. */
  async function talk(...dialog: Dialog): Promise<string> {
    const { terminal, code } = start();
    await terminal.play(...dialog);
    expect(await code).toBe(0);
    return terminal.said;
  }

  /** Has it read its messages from a file. */
  async function read(
    lines: readonly string[],
    options: Pick<
      ChatOptions,
      "approve" | "task" | "continue" | "model" | "approvalMode" | "data"
    > = {},
  ): Promise<{
    readonly said: string;
    readonly erred: string;
    readonly code: number;
  }> {
    const { io, out, err } = pipedIo({
      stdin: lines.map((line) => `${line}\n`).join(""),
    });
    const code = await chat(
      { url: server.url, token: server.token, protocol: "connect", ...options },
      io,
    );
    return { said: out(), erred: err(), code };
  }
});

function textsOf(messages: readonly Message[]): string[] {
  return messages.map(({ parts: [part] }) =>
    part?.content.case === "text" ? part.content.value : "",
  );
}
