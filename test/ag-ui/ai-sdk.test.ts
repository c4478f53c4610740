import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { Chat } from "@ai-sdk/react";
import {
  type DevtoolClient,
  modifiedArgumentsPart,
  pendingToolCalls,
  streamMessage,
} from "@devtool/client";
import {
  type AgentUIMessage,
  createChatTransport,
} from "@devtool/client/ai-sdk";
import { serveCodingAgent } from "@devtool/coding-agent";
import { fileText, putFile } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { TaskState } from "@devtool/schema";
import type { DevtoolServer } from "@devtool/server";
import {
  type DynamicToolUIPart,
  lastAssistantMessageIsCompleteWithApprovalResponses,
} from "ai";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { clientOf } from "../client-of.ts";
import { bundle, CHROMIUM, launch, serveFiles } from "../outer/browser.ts";

describe("a chat of the AI SDK with an agent", () => {
  let workspace: string;
  let server: DevtoolServer;
  let client: DevtoolClient;
  const errors: Error[] = [];
  beforeEach(async () => {
    errors.length = 0;
    workspace = temporaryDirectory();
    server = await serveCodingAgent({ workspace });
    client = clientOf(server);
  });
  afterEach(() => server.close());

  function openChat(
    options: Parameters<typeof createChatTransport>[1] = {},
    messages: AgentUIMessage[] = [],
  ): Chat<AgentUIMessage> {
    return new Chat<AgentUIMessage>({
      messages,
      transport: createChatTransport(client, options),
      sendAutomaticallyWhen:
        lastAssistantMessageIsCompleteWithApprovalResponses,
      onError: (error) => errors.push(error),
    });
  }

  const callsOf = ({ messages }: Chat<AgentUIMessage>): DynamicToolUIPart[] =>
    messages.flatMap(({ parts }) =>
      parts.filter((part) => part.type === "dynamic-tool"),
    );
  const textsOf = ({ messages }: Chat<AgentUIMessage>): string[] =>
    messages
      .filter(({ role }) => role === "assistant")
      .flatMap(({ parts }) =>
        parts.flatMap((part) => (part.type === "text" ? [part.text] : [])),
      );
  const approvalOf = (chat: Chat<AgentUIMessage>): string =>
    callsOf(chat).at(-1)?.approval?.id ?? "";
  const taskIdOf = (chat: Chat<AgentUIMessage>): string =>
    chat.messages.at(-1)?.metadata?.taskId ?? "";

  it("streams thought, call and question, and an approval lets the call run", async () => {
    const chat = openChat();
    await chat.sendMessage({ text: "think\nwrite a.txt hello\ntext Written." });
    expect(chat.status).toBe("ready");
    expect(chat.messages.at(-1)?.parts.map(({ type }) => type)).toEqual([
      "reasoning",
      "dynamic-tool",
    ]);
    const [asking] = callsOf(chat);
    expect(asking).toMatchObject({
      state: "approval-requested",
      toolName: "write_file",
      input: { content: "hello" },
      approval: {
        descriptor: {
          options: expect.arrayContaining([
            expect.objectContaining({ id: "proceed_always" }),
          ]),
        },
      },
    });

    await chat.addToolApprovalResponse({
      id: approvalOf(chat),
      approved: true,
    });
    await expect.poll(() => textsOf(chat).at(-1)).toBe("Written.");
    await expect.poll(() => chat.status).toBe("ready");
    expect(fileText(workspace, "a.txt")).toBe("hello");
    expect(chat.messages).toHaveLength(2);
    expect(callsOf(chat)).toMatchObject([
      {
        state: "output-available",
        preliminary: undefined,
        output: { new_content: "hello" },
        approval: { approved: true },
      },
    ]);
    const { task } = await client.tasks.getTask({ taskId: taskIdOf(chat) });
    expect(task?.state).toBe(TaskState.COMPLETED);

    await chat.sendMessage({ text: "text Again." });
    expect(textsOf(chat).at(-1)).toBe("Again.");
    expect(taskIdOf(chat)).toBe(task?.id);
    expect(errors).toEqual([]);
  });

  it("declines a call that is not approved", async () => {
    const chat = openChat();
    await chat.sendMessage({ text: "write a.txt hello\ntext Not written." });
    await chat.addToolApprovalResponse({
      id: approvalOf(chat),
      approved: false,
    });
    await expect
      .poll(() => callsOf(chat))
      .toMatchObject([
        { state: "output-denied", approval: { approved: false } },
      ]);
    await expect.poll(() => chat.status).toBe("ready");
    await expect(readFile(join(workspace, "a.txt"))).rejects.toThrow("ENOENT");
    expect(errors).toEqual([]);
  });

  it("answers several questions together", async () => {
    const chat = openChat();
    await chat.sendMessage({
      text: "write a.txt one\nwrite b.txt two\ntext Done.",
    });
    const [one, two] = callsOf(chat);
    await chat.addToolApprovalResponse({
      id: one?.approval?.id ?? "",
      approved: true,
    });
    expect(callsOf(chat).map(({ state }) => state)).toEqual([
      "approval-responded",
      "approval-requested",
    ]);
    await chat.addToolApprovalResponse({
      id: two?.approval?.id ?? "",
      approved: false,
    });
    await expect
      .poll(() => callsOf(chat).map(({ state }) => state))
      .toEqual(["output-available", "output-denied"]);
    expect(fileText(workspace, "a.txt")).toBe("one");
    expect(errors).toEqual([]);
  });

  it("shows live output of a running command before its result", async () => {
    const chat = openChat();
    const seen: unknown[] = [];
    chat["~registerMessagesCallback"](() => {
      for (const part of callsOf(chat)) {
        if (part.state === "output-available") {
          seen.push(part.preliminary ?? false);
        }
      }
    });
    await chat.sendMessage({
      text: "run echo first; while [ ! -e go ]; do sleep 0.02; done; echo second",
    });
    void chat.addToolApprovalResponse({ id: approvalOf(chat), approved: true });
    await expect.poll(() => callsOf(chat)[0]?.output).toContain("first");
    expect(callsOf(chat)).toMatchObject([
      { state: "output-available", preliminary: true },
    ]);
    putFile(workspace, "go", "");
    await expect.poll(() => callsOf(chat)[0]?.output).toContain("second");
    await expect.poll(() => chat.status).toBe("ready");
    expect(seen).toContain(true);
    expect(seen.at(-1)).toBe(false);
  });

  it("opens a task again in another page, and answers its question there", async () => {
    const first = openChat();
    await first.sendMessage({ text: "text Before." });
    await first.sendMessage({ text: "write a.txt hello\ntext Written." });
    const taskId = taskIdOf(first);
    // One page kept nothing, and one kept the messages: neither shows the last
    // turn twice.
    for (const messages of [[], structuredClone(first.messages)]) {
      const chat = openChat({ taskIdOf: () => taskId }, messages);
      await chat.resumeStream();
      expect(chat.messages).toHaveLength(Math.max(1, messages.length));
      expect(callsOf(chat)).toMatchObject([{ state: "approval-requested" }]);
    }
    const last = openChat({ taskIdOf: () => taskId });
    await last.resumeStream();
    await last.addToolApprovalResponse({
      id: approvalOf(last),
      approved: true,
    });
    await expect.poll(() => textsOf(last)).toEqual(["Written."]);
    expect(fileText(workspace, "a.txt")).toBe("hello");
    // The first page still asks, and its answer comes too late.
    await first.addToolApprovalResponse({
      id: approvalOf(first),
      approved: false,
    });
    await expect.poll(() => errors.length).toBe(1);
    await first.resumeStream();
    expect(callsOf(first)).toMatchObject([
      { state: "output-available", approval: { approved: true } },
    ]);
    expect(textsOf(first)).toEqual(["Before.", "Written."]);
  });

  it("continues a message that was interrupted while the agent worked", async () => {
    const chat = openChat();
    await chat.sendMessage({
      text: "text One.\nrun echo begun; while [ ! -e go ]; do sleep 0.02; done\ntext Two.",
    });
    void chat.addToolApprovalResponse({ id: approvalOf(chat), approved: true });
    await expect.poll(() => chat.status).toBe("streaming");
    await chat.stop();
    const resumed = chat.resumeStream();
    putFile(workspace, "go", "");
    await resumed;
    expect(textsOf(chat)).toEqual(["One.", "Two."]);
    expect(chat.messages).toHaveLength(2);
    expect(errors).toEqual([]);
  });

  it("tells of an answer that another client gave", async () => {
    const chat = openChat();
    await chat.sendMessage({ text: "write a.txt hello\ntext Written." });
    const other = openChat({ taskIdOf: () => taskIdOf(chat) });
    await other.resumeStream();
    await other.addToolApprovalResponse({
      id: approvalOf(other),
      approved: true,
    });
    await expect.poll(() => textsOf(other)).toEqual(["Written."]);
    await chat.resumeStream();
    expect(callsOf(chat)).toMatchObject([
      { state: "output-available", approval: { approved: true } },
    ]);
  });

  it("ends as aborted when another client cancels the task", async () => {
    const chat = openChat();
    await chat.sendMessage({ text: "write a.txt hello\ntext Written." });
    await client.tasks.cancelTask({ taskId: taskIdOf(chat) });
    await chat.resumeStream();
    expect(callsOf(chat)).not.toMatchObject([{ state: "approval-requested" }]);
    expect([chat.status, errors]).toEqual(["ready", []]);
  });

  it("has no stream for a chat that has no task", async () => {
    const chat = openChat();
    await chat.resumeStream();
    expect([chat.status, chat.messages]).toEqual(["ready", []]);
  });

  it("never sends an approval for what the chat did not show", async () => {
    const chat = openChat();
    await chat.sendMessage({ text: "write a.txt shown" });
    const taskId = taskIdOf(chat);
    const approval = approvalOf(chat);
    // Another client has the call ask about something else.
    const other = openChat({ taskIdOf: () => taskId });
    await other.resumeStream();
    expect(approvalOf(other)).toBe(approval);
    const { task } = await client.tasks.getTask({ taskId });
    const calls = task ? pendingToolCalls(task) : [];
    const parts = calls.map((call) =>
      modifiedArgumentsPart(call, {
        ...call.inputParameters,
        content: "not shown",
      }),
    );
    const message = { messageId: crypto.randomUUID(), parts };
    for await (const _ of streamMessage(
      client,
      { message, taskId },
      AbortSignal.timeout(60_000),
    )) {
    }

    await chat.addToolApprovalResponse({ id: approval, approved: true });
    await expect
      .poll(() => errors)
      .toMatchObject([
        { message: expect.stringContaining("failed_precondition") },
      ]);
    await other.resumeStream();
    expect(approvalOf(other)).not.toBe(approval);
    expect(callsOf(other)).toMatchObject([
      { state: "approval-requested", input: { content: "not shown" } },
    ]);
    await expect(readFile(join(workspace, "a.txt"))).rejects.toThrow("ENOENT");
  });

  it("reports a task that failed as an error, and goes on after it", async () => {
    const chat = openChat();
    await chat.sendMessage({ text: "text Begun.\nfail 400" });
    expect(chat.status).toBe("error");
    expect(errors).toMatchObject([{ message: expect.stringContaining("400") }]);
    await chat.sendMessage({ text: "text Again." });
    expect(textsOf(chat).at(-1)).toBe("Again.");
  });

  it("shows sources and notices", async () => {
    const notices: unknown[] = [];
    const chat = new Chat<AgentUIMessage>({
      transport: createChatTransport(client),
      onData: ({ type }) => notices.push(type),
    });
    await chat.sendMessage({
      text: "fail 503 1\ncite https://example.org/a\ntext Done.",
    });
    expect(chat.lastMessage?.parts).toContainEqual(
      expect.objectContaining({
        type: "source-url",
        url: "https://example.org/a",
      }),
    );
    expect(notices).toContain("data-notice");
  });

  it("refuses what an agent cannot be sent", async () => {
    const chat = openChat();
    await chat.sendMessage({
      parts: [{ type: "data-notice", data: { text: "x" } }],
    });
    expect(errors).toMatchObject([
      { message: expect.stringContaining('part "data-notice" cannot be sent') },
    ]);
  });

  it("sends files", async () => {
    const chat = openChat();
    const url = `data:text/plain;base64,${btoa("content")}`;
    const file = {
      type: "file",
      mediaType: "text/plain",
      filename: "a.txt",
      url,
    } as const;
    await chat.sendMessage({
      parts: [{ type: "text", text: "text Seen." }, file],
    });
    const { task } = await client.tasks.getTask({ taskId: taskIdOf(chat) });
    expect(task?.history[0]?.parts[1]?.content).toMatchObject({
      case: "file",
      value: {
        name: "a.txt",
        source: { case: "bytes", value: new TextEncoder().encode("content") },
      },
    });
  });
});

describe.skipIf(CHROMIUM === undefined)(
  "examples/ai-sdk in Chromium (skipped without Chromium)",
  () => {
    it("asks again when the page is loaded again, and writes what was allowed", async () => {
      const html = await readFile(
        new URL("../../examples/ai-sdk/index.html", import.meta.url),
        "utf8",
      );
      await using site = await serveFiles({
        "/": { type: "text/html", text: html },
        "/page.js": {
          type: "text/javascript",
          text: await bundle("../../examples/ai-sdk/page.tsx"),
        },
      });
      const scratch = temporaryDirectory();
      await using server = await serveCodingAgent({
        workspace: scratch,
        allowedOrigins: [site.origin],
      });
      await using browser = await launch();
      const page = await browser.newPage();
      await page.goto(
        `${site.origin}/#url=${server.url}&token=${server.token}`,
      );
      await page.fill("textarea", "write chat.txt From a chat\ntext Written.");
      await page.click("text=Send");
      await page.waitForSelector("text=Allow once");
      await page.reload();
      await page.click("text=Allow once");
      await page.waitForSelector("p.assistant:has-text('Written.')");
      expect(await page.locator("section.call").count()).toBe(1);
      expect(fileText(scratch, "chat.txt")).toBe("From a chat");
    });
  },
);
