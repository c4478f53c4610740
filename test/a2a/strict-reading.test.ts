import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { serveCodingAgent } from "@devtool/coding-agent";
import { fileText } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { EXTENSION_URI, SESSION_SETTINGS_URI } from "@devtool/schema";
import type { DevtoolServer } from "@devtool/server";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { postJson } from "../post-json.ts";

type Json = Record<string, unknown>;

const EXTENSION = { [EXTENSION_URI]: {} };
const OLD = `${"x".repeat(499)}\n`;

/**
 * The ways to send a message, each with its own form of the same request and
 * answer.
 */
const WAYS = [
  {
    way: "A2A 0.3",
    path: "/",
    request: (message: Json) => ({
      jsonrpc: "2.0",
      id: 1,
      method: "message/send",
      params: {
        message: {
          kind: "message",
          role: "user",
          ...message,
          parts: partsOf(message, true),
        },
      },
    }),
    taskOf: ({ result }: Reply) => result,
  },
  {
    way: "A2A 1.0",
    path: "/",
    request: (message: Json) => ({
      jsonrpc: "2.0",
      id: 1,
      method: "SendMessage",
      params: {
        message: {
          role: "ROLE_USER",
          ...message,
          parts: partsOf(message, false),
        },
      },
    }),
    taskOf: ({ result }: Reply) => result?.task,
  },
] as const;

describe.each(WAYS)("a decision in $way", ({ path, request, taskOf }) => {
  let server: DevtoolServer;
  let workspace: string;
  beforeAll(async () => {
    workspace = temporaryDirectory();
    server = await serveCodingAgent({ workspace });
  });
  afterAll(() => server.close());
  beforeEach(() => writeFile(join(workspace, "a.txt"), OLD));

  it.each([
    {
      wrong: { modified_details: { file_details: { new_content: "USER\n" } } },
      says: "data.modified_details is unknown",
    },
    { wrong: { new_content: "USER\n" }, says: "data.new_content is unknown" },
    {
      wrong: { file_details: { content: "USER\n" } },
      says: "data.file_details.content is unknown",
    },
    {
      wrong: { file_details: {} },
      says: "data.file_details.new_content is missing",
    },
    { wrong: { file_details: null }, says: "data.file_details is null" },
    {
      wrong: { file_details: "USER" },
      says: "data.file_details must be an object",
    },
  ])(
    "that holds $wrong changes no file, and the approval stays open (TOOL-5)",
    async ({ wrong, says }) => {
      const asking = await ask("write a.txt MODEL");
      const answer = {
        tool_call_id: asking.callId,
        selected_option_id: "proceed_once",
      };
      const refused = await answerWith(
        { ...answer, ...wrong },
        { taskId: asking.taskId },
      );
      expect(refused.error).toMatchObject({
        code: -32602,
        message: expect.stringContaining(says),
      });
      expect(fileText(workspace, "a.txt")).toBe(OLD);
      const right = { ...answer, file_details: { new_content: "" } };
      const { id } =
        taskOf(await answerWith(right, { taskId: asking.taskId })) ?? {};
      expect(id).toBe(asking.taskId);
      expect(fileText(workspace, "a.txt")).toBe("");
    },
  );

  it.each([
    {
      data: (id: string) => ({
        ToolCallConfirmation: {
          tool_call_id: id,
          selected_option_id: "proceed_once",
        },
      }),
      says: "is the name of the message",
    },
    {
      data: (id: string) => ({
        answer: { tool_call_id: id, selected_option_id: "proceed_once" },
      }),
      says: "data.answer holds an answer",
    },
    {
      data: (id: string) => ({ tool_call_id: id }),
      says: "data.selected_option_id is missing",
    },
    {
      data: (id: string) => ({ tool_call_id: id, verdict: "yes" }),
      says: "data.selected_option_id is missing",
    },
  ])(
    "in data that cannot be read gets the reason: $says (TOOL-5)",
    async ({ data, says }) => {
      const { taskId, callId } = await ask("write a.txt MODEL");
      const refused = await answerWith(data(callId), { taskId });
      expect(refused.error).toMatchObject({
        code: -32602,
        message: expect.stringContaining(says),
      });
    },
  );

  it("finds the task that waits for approval, by its call alone or with the context (TOOL-5)", async () => {
    for (const withContext of [false, true]) {
      const { taskId, callId, contextId } = await ask("run touch found");
      const answer = { tool_call_id: callId, selected_option_id: "cancel" };
      const message = {
        messageId: crypto.randomUUID(),
        ...(withContext && { contextId }),
        data: answer,
      };
      const answered = taskOf(await post(message));
      expect(answered).toMatchObject({ id: taskId, contextId });
      // A retry is the same answer (STREAM-7). Another message comes too late.
      expect(taskOf(await post(message))?.id).toBe(taskId);
      const late = await answerWith(answer, withContext ? { contextId } : {});
      expect(late.error).toMatchObject({
        code: -32602,
        message: expect.stringContaining("no task asks about tool call"),
      });
    }
  });

  it("is refused in a context without such an approval, and starts no task (TOOL-5)", async () => {
    const { taskId, callId } = await ask("run touch stays");
    const answer = { tool_call_id: callId, selected_option_id: "cancel" };
    const refused = await answerWith(answer, { contextId: "elsewhere" });
    expect(refused.error?.message).toContain(
      `tool call "${callId}" in context "elsewhere"`,
    );
    expect(taskOf(await answerWith(answer, { taskId }))?.id).toBe(taskId);
  });

  it.each<{ metadata: Json; says: string }>([
    {
      metadata: { [EXTENSION_URI]: "/w" },
      says: "AgentSettings must be an object",
    },
    {
      metadata: { [EXTENSION_URI]: { workspace_path: null } },
      says: "workspace_path is empty",
    },
    {
      metadata: { [EXTENSION_URI]: { workspace_path: 5 } },
      says: "workspace_path must be a string, got 5",
    },
    { metadata: { [EXTENSION_URI]: { bogus: 5 } }, says: "bogus is unknown" },
    {
      metadata: { [EXTENSION_URI.replace("v0", "v1")]: {} },
      says: "is version 1.0.0 of the extension",
    },
    { metadata: { workspace_path: "/w" }, says: "is in the wrong place" },
    {
      metadata: { [SESSION_SETTINGS_URI]: { allowed: ["x"] } },
      says: "allowed is unknown",
    },
  ])(
    "about the workspace is refused as $metadata (SESSION-1, SESSION-3)",
    async ({ metadata, says }) => {
      const { error } = await post({
        messageId: crypto.randomUUID(),
        text: "text hi",
        metadata,
      });
      expect(error).toMatchObject({
        code: -32602,
        message: expect.stringContaining(says),
      });
      expect(error?.message).not.toMatch(/devtool\.(a2a\.)?v1alpha/);
    },
  );

  it("about the allowed tools takes effect, beside the workspace in the form of the RFC (SESSION-3)", async () => {
    const metadata = {
      [EXTENSION_URI]: {
        workspace_path: workspace,
        allowed_tools: ["read_file"],
      },
    };
    const sent = await post({
      messageId: crypto.randomUUID(),
      text: "run touch hi",
      metadata,
    });
    expect(JSON.stringify(taskOf(sent))).toContain("policy_violation");
  });

  it("belongs to the user: a client cannot send messages as the agent", async () => {
    const role =
      path === "/" && request({}).method === "SendMessage"
        ? "ROLE_AGENT"
        : "agent";
    const { error } = await post({
      messageId: crypto.randomUUID(),
      text: "text hi",
      role,
    });
    expect(error).toMatchObject({
      code: -32602,
      message: expect.stringContaining(`message.role "${role}" must be`),
    });
  });

  async function ask(text: string) {
    const task = taskOf(
      await post({ messageId: crypto.randomUUID(), text, metadata: EXTENSION }),
    );
    const callId =
      /"tool_call_id":"([^"]+)"/.exec(JSON.stringify(task))?.[1] ?? "";
    return {
      taskId: String(task?.id),
      contextId: String(task?.contextId),
      callId,
    };
  }

  function answerWith(data: Json, place: Json): Promise<Reply> {
    return post({ messageId: crypto.randomUUID(), ...place, data });
  }

  async function post({ text, data, ...message }: Json): Promise<Reply> {
    const body = request({
      ...message,
      ...(text !== undefined && { text }),
      ...(data !== undefined && { data }),
    });
    const response = await postJson(server, path, body);
    const reply: Reply = JSON.parse(await response.text());
    return reply;
  }
});

interface Reply {
  readonly result?: Json & { readonly task?: Json };
  readonly error?: { readonly code: number; readonly message: string };
}

function partsOf({ text, data }: Json, withKind: boolean): Json[] {
  const part = data === undefined ? { text } : { data };
  return [
    {
      ...part,
      ...(withKind && { kind: data === undefined ? "text" : "data" }),
    },
  ];
}
