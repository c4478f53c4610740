import { mkdtemp, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { EventType } from "@ag-ui/client";
import {
  confirmationPart,
  type DevtoolClient,
  pendingToolCalls,
} from "@devtool/client";
import { serveCodingAgent } from "@devtool/coding-agent";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { type Task, TaskState } from "@devtool/schema";
import type { DevtoolServer } from "@devtool/server";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { clientOf } from "../client-of.ts";
import { FrontEnd, typesOf } from "./front-end.ts";

const LIMIT_MS = 60_000;

describe("a front end with the official client of AG-UI", {
  timeout: LIMIT_MS,
}, () => {
  let base: string;
  let workspace: string;
  let server: DevtoolServer;
  let client: DevtoolClient;
  const warnings = vi.spyOn(console, "warn");
  beforeEach(async () => {
    warnings.mockClear();
    base = temporaryDirectory();
    workspace = await mkdtemp(join(base, "workspace-"));
    await serve();
  });
  afterEach(async () => {
    await server.close();
    // The client says so when it strips what AG-UI does not know.
    expect(warnings.mock.calls).toEqual([]);
  });

  async function serve(): Promise<void> {
    server = await serveCodingAgent({
      workspace,
      dataDirectory: join(base, "data"),
      sandbox: "none",
    });
    client = clientOf(server);
  }

  /** The only task of a thread. */
  async function taskOf({ threadId }: FrontEnd): Promise<Task> {
    const { tasks } = await client.tasks.listTasks({ contextId: threadId });
    expect(tasks).toHaveLength(1);
    const { task } = await client.tasks.getTask({ taskId: tasks[0]?.id ?? "" });
    if (!task) throw new Error("the server gave no task");
    return task;
  }

  const fileText = (name: string): Promise<string> =>
    readFile(join(workspace, name), "utf8");

  it("streams thoughts and text, and goes on with the same task", async () => {
    const page = new FrontEnd(server);
    const events = await page.say("think 2\ntext Hello.");
    expect(typesOf(events)).toEqual([
      EventType.RUN_STARTED,
      ...[
        "START",
        "MESSAGE_START",
        "MESSAGE_CONTENT",
        "MESSAGE_END",
        "END",
      ].map((name) => `REASONING_${name}`),
      ...[
        "START",
        "MESSAGE_START",
        "MESSAGE_CONTENT",
        "MESSAGE_END",
        "END",
      ].map((name) => `REASONING_${name}`),
      EventType.TEXT_MESSAGE_START,
      EventType.TEXT_MESSAGE_CONTENT,
      EventType.TEXT_MESSAGE_END,
      EventType.RUN_FINISHED,
    ]);
    expect(events[0]).toMatchObject({
      threadId: page.threadId,
      protocolVersion: "1.0",
    });
    expect(events.at(-1)).toMatchObject({ outcome: { type: "success" } });
    expect(page.messages.map(({ role }) => role)).toEqual([
      "user",
      "reasoning",
      "reasoning",
      "assistant",
    ]);

    const more = await page.say("text Again.");
    expect(typesOf(more)).not.toContain(EventType.MESSAGES_SNAPSHOT);
    expect(page.texts).toEqual(["Hello.", "Again."]);
    expect((await taskOf(page)).state).toBe(TaskState.COMPLETED);
  });

  it("answers a question, and the call runs without being begun again", async () => {
    const page = new FrontEnd(server);
    const asked = await page.say("write a.txt hello\ntext Written.");
    expect(typesOf(asked)).toEqual([
      EventType.RUN_STARTED,
      EventType.TOOL_CALL_START,
      EventType.TOOL_CALL_ARGS,
      EventType.TOOL_CALL_END,
      EventType.ACTIVITY_SNAPSHOT,
      EventType.RUN_FINISHED,
    ]);
    expect(page.interrupt).toMatchObject({
      reason: "tool_call",
      message: expect.stringContaining("a.txt"),
      responseSchema: {
        required: ["approved"],
        properties: {
          option: {
            enum: expect.arrayContaining([
              "proceed_once",
              "proceed_always",
              "cancel",
            ]),
          },
          editedArgs: {
            properties: {
              file_path: { type: "string" },
              content: { type: "string" },
            },
          },
          newContent: { type: "string" },
        },
      },
      metadata: {
        devtool: {
          confirmationRequest: { file_edit_details: { new_content: "hello" } },
        },
      },
    });

    const answered = await page.answer({ approved: true });
    expect(typesOf(answered)).not.toContain(EventType.TOOL_CALL_START);
    expect(await fileText("a.txt")).toBe("hello");
    expect(page.messages.map(({ role }) => role)).toEqual([
      "user",
      "assistant",
      "tool",
      "activity",
      "assistant",
    ]);
    expect(page.texts).toEqual(["Written."]);
    expect(page.interrupts).toEqual([]);
  });

  it("declines a call, by its payload or by giving up", async () => {
    const page = new FrontEnd(server);
    await page.say(
      "write a.txt hello\nnext\nwrite b.txt hello\ntext Not written.",
    );
    await page.answer({ approved: false });
    await page.run({
      resume: [{ interruptId: page.interrupt.id, status: "cancelled" }],
    });
    await expect(fileText("a.txt")).rejects.toThrow("ENOENT");
    await expect(fileText("b.txt")).rejects.toThrow("ENOENT");
    const results = page.messages
      .filter(({ role }) => role === "tool")
      .map(({ content }) => content);
    expect(results).toEqual(
      Array(2).fill("The call was declined or canceled."),
    );
    expect(page.texts).toEqual(["Not written."]);
  });

  it("chooses another option of the question", async () => {
    const page = new FrontEnd(server);
    await page.say("write a.txt one\nnext\nwrite b.txt two\ntext Done.");
    await page.answer({ approved: true, option: "proceed_always" });
    expect(page.interrupts).toEqual([]);
    expect([await fileText("a.txt"), await fileText("b.txt")]).toEqual([
      "one",
      "two",
    ]);
  });

  it("changes the arguments of a call, which asks again with them (TOOL-12)", async () => {
    const page = new FrontEnd(server);
    await page.say("write a.txt hello\ntext Written.");
    const first = page.interrupt;
    await page.answer({
      approved: true,
      editedArgs: { file_path: "b.txt", content: "changed" },
    });
    await expect(fileText("b.txt")).rejects.toThrow("ENOENT");
    expect(page.interrupt.id).not.toBe(first.id);
    expect(page.interrupt).toMatchObject({
      toolCallId: first.toolCallId,
      message: expect.stringContaining("b.txt"),
      metadata: {
        devtool: { arguments: { file_path: "b.txt", content: "changed" } },
      },
    });
    await page.answer({ approved: true });
    expect(await fileText("b.txt")).toBe("changed");
    await expect(fileText("a.txt")).rejects.toThrow("ENOENT");
  });

  it("changes the content of a file", async () => {
    const page = new FrontEnd(server);
    await page.say("write a.txt hello\ntext Written.");
    await page.answer({ approved: true, newContent: "changed" });
    expect(await fileText("a.txt")).toBe("changed");
  });

  it("answers several questions together", async () => {
    const page = new FrontEnd(server);
    await page.say("write a.txt one\nwrite b.txt two\ntext Done.");
    const [one, two] = page.interrupts;
    await page.run({
      resume: [
        {
          interruptId: one?.id ?? "",
          status: "resolved",
          payload: { approved: true },
        },
        {
          interruptId: two?.id ?? "",
          status: "resolved",
          payload: { approved: false },
        },
      ],
    });
    expect(await fileText("a.txt")).toBe("one");
    await expect(fileText("b.txt")).rejects.toThrow("ENOENT");
  });

  it("shows the output of a command while it runs, and its result", async () => {
    const page = new FrontEnd(server);
    await page.say(
      "run echo first; while [ ! -e go ]; do sleep 0.02; done; echo second",
    );
    let live = "";
    page.watch((event) => {
      if (
        event.type !== EventType.ACTIVITY_SNAPSHOT ||
        !JSON.stringify(event).includes("first\\n")
      ) {
        return;
      }
      live = JSON.stringify(event);
      void writeFile(join(workspace, "go"), "");
    });
    await page.answer({ approved: true });
    expect(live).toContain("liveContent");
    expect(
      page.messages.find(({ role }) => role === "tool")?.content,
    ).toContain("second");
  });

  it("loses nothing when it disconnects: the run goes on, and a later one shows it", async () => {
    const page = new FrontEnd(server);
    await page.say(
      "text Before.\nrun while [ ! -e go ]; do sleep 0.02; done; echo done\ntext After.",
    );
    page.watch(({ type }) => {
      if (type === EventType.ACTIVITY_SNAPSHOT) page.agent.abortRun();
    });
    await page.answer({ approved: true });
    expect((await taskOf(page)).state).toBe(TaskState.WORKING);

    const reloaded = new FrontEnd(server, { threadId: page.threadId });
    reloaded.watch(({ type }) => {
      if (type === EventType.MESSAGES_SNAPSHOT) {
        void writeFile(join(workspace, "go"), "");
      }
    });
    await reloaded.run();
    expect(reloaded.texts).toEqual(["Before.", "After."]);
    expect(
      reloaded.messages.find(({ role }) => role === "tool")?.content,
    ).toContain("done");

    // The page that was cut off sends its answer again, which counts once, and
    // gets what it missed.
    page.watch(() => undefined);
    await page.answer({ approved: true });
    expect(page.texts).toEqual(["Before.", "After."]);
    await page.say("text Later.");
    expect(page.texts).toEqual(["Before.", "After.", "Later."]);
    expect(page.messages.filter(({ role }) => role === "user")).toHaveLength(2);
  });

  it("opens a thread again with its open question, also after a restart of the server", async () => {
    const page = new FrontEnd(server);
    await page.say("think\nwrite a.txt hello\ntext Written.");
    await server.close();
    await serve();
    const reloaded = new FrontEnd(server, { threadId: page.threadId });
    await reloaded.run();
    expect(reloaded.interrupt).toEqual(page.interrupt);
    expect(reloaded.messages.filter(({ role }) => role !== "activity")).toEqual(
      page.messages.filter(({ role }) => role !== "activity"),
    );
    await reloaded.answer({ approved: true });
    expect(await fileText("a.txt")).toBe("hello");
  });

  it("shows what other clients do in the thread", async () => {
    const page = new FrontEnd(server);
    await page.say("write a.txt hello\ntext Written.");
    const task = await taskOf(page);
    const [call] = pendingToolCalls(task);
    if (!call) throw new Error("the task asks nothing");
    const message = {
      messageId: crypto.randomUUID(),
      parts: [confirmationPart(call, "proceed_once")],
    };
    await client.tasks.sendMessage({ taskId: task.id, message });
    const other = {
      messageId: crypto.randomUUID(),
      parts: [{ content: { case: "text" as const, value: "text Theirs." } }],
    };
    await client.tasks.sendMessage({ taskId: task.id, message: other });

    // Its own answer comes too late.
    const late = await page.answer({ approved: false });
    expect(late.at(-1)).toMatchObject({
      type: EventType.RUN_ERROR,
      code: "failed_precondition",
    });
    const reloaded = new FrontEnd(server, { threadId: page.threadId });
    await reloaded.run();
    expect(reloaded.texts).toEqual(["Written.", "Theirs."]);
    expect(
      reloaded.messages.filter(({ role }) => role === "user"),
    ).toHaveLength(2);
  });

  it("sends images and context, which the agent gets with the message", async () => {
    const page = new FrontEnd(server);
    const context = [{ description: "The open file", value: "main.ts" }];
    const source = {
      type: "data" as const,
      value: "iVBORw0KGgo=",
      mimeType: "image/png",
    };
    await page.say(
      [
        { type: "text", text: "text Seen." },
        { type: "image", source },
      ],
      { context },
    );
    expect(
      (await taskOf(page)).history[0]?.parts.map(({ content }) => content),
    ).toMatchObject([
      { case: "text", value: "text Seen." },
      {
        case: "file",
        value: { mediaType: "image/png", source: { case: "bytes" } },
      },
      { case: "data", value: { context } },
    ]);
    const reloaded = new FrontEnd(server, { threadId: page.threadId });
    await reloaded.run();
    expect(reloaded.messages[0]).toMatchObject({
      content: [{ type: "text" }, { type: "image", source }],
    });
  });

  it("stops the agent with a run that says so", async () => {
    const page = new FrontEnd(server);
    await page.say("write a.txt hello\ntext Written.");
    const task = await taskOf(page);
    const other = new FrontEnd(server, { threadId: page.threadId });
    const events = await other.run({
      forwardedProps: { devtool: { cancel: true } },
    });
    expect(events.at(-1)).toMatchObject({
      type: EventType.RUN_FINISHED,
      outcome: { type: "cancelled" },
    });
    expect((await client.tasks.getTask({ taskId: task.id })).task?.state).toBe(
      TaskState.CANCELED,
    );
    await other.say("text On.");
    expect(other.texts).toEqual(["On."]);
  });

  it("ends a run whose agent fails with an error", async () => {
    const page = new FrontEnd(server);
    const events = await page.say("text Before.\nfail 500");
    expect(events.at(-1)).toMatchObject({
      type: EventType.RUN_ERROR,
      code: "failed",
      message: expect.stringContaining("500"),
    });
    await page.say("text On.");
    expect(page.texts).toEqual(["Before.", "On."]);
  });

  it("chooses settings of the session, and says its name", async () => {
    const directory = await mkdtemp(join(workspace, "project-"));
    const page = new FrontEnd(server);
    const settings = { workspace_path: directory };
    const devtool = { settings, messageSettings: { clientLabel: "a page" } };
    await page.say("write a.txt hello\ntext Written.", {
      forwardedProps: { devtool },
    });
    await page.answer({ approved: true }, { forwardedProps: { devtool } });
    expect(await readFile(join(directory, "a.txt"), "utf8")).toBe("hello");
    const calls = (await taskOf(page)).history.flatMap(({ parts }) =>
      parts.map((part) => part.toolCallDetail?.answerer),
    );
    expect(calls).toContainEqual(
      expect.objectContaining({ clientLabel: "a page" }),
    );
  });
});
