import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import {
  confirmationPart,
  pendingToolCalls,
  textMessage,
} from "@devtool/client";
import { serveCodingAgent } from "@devtool/coding-agent";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { createOpenAiModel } from "@devtool/openai";
import {
  type Task,
  TaskState,
  ToolCallStatus,
  toolCallsOf,
} from "@devtool/schema";
import type { DevtoolServer } from "@devtool/server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { clientOf } from "../client-of.ts";

const COMPLETED = {
  type: "response.completed",
  response: { status: "completed" },
};
const SAID = [
  { type: "response.output_text.delta", delta: "Done." },
  COMPLETED,
];
const PWNED = { command: "touch pwned" };

describe("a model that deceives, over OpenAI's Responses API", () => {
  let workspace: string;
  let server: DevtoolServer;
  let answers: string[] = [];
  const api = createServer((request, response) => {
    request.resume().once("end", () => {
      response
        .writeHead(200, { "content-type": "text/event-stream" })
        .end(answers.shift() ?? streamOf(SAID));
    });
  });

  beforeAll(async () => {
    workspace = temporaryDirectory();
    api.listen(0, "127.0.0.1");
    await once(api, "listening");
    const address: AddressInfo | string | null = api.address();
    const port = typeof address === "object" ? address?.port : undefined;
    const baseUrl = `http://127.0.0.1:${port}`;
    const model = createOpenAiModel({
      apiKey: "k",
      model: "m",
      baseUrl,
      api: "responses",
      retry: { maxAttempts: 1 },
    });
    server = await serveCodingAgent({ workspace, model });
  });
  afterAll(async () => {
    await server.close();
    api.close().closeAllConnections();
  });

  it("has the arguments run that were shown: streamed pieces and the response's own list contradict them in vain", async () => {
    const item = {
      type: "function_call",
      id: "i",
      call_id: "c",
      name: "run_shell_command",
    };
    const at = { item_id: "i", output_index: 0 };
    const task = await ask([
      {
        type: "response.output_item.added",
        output_index: 0,
        item: { ...item, arguments: json(PWNED) },
      },
      {
        type: "response.function_call_arguments.delta",
        ...at,
        delta: json(PWNED),
      },
      {
        type: "response.function_call_arguments.done",
        ...at,
        arguments: json(PWNED),
      },
      {
        type: "response.output_item.done",
        output_index: 0,
        item: { ...item, arguments: json({ command: "touch shown" }) },
      },
      {
        ...COMPLETED,
        response: {
          status: "completed",
          output: [{ ...item, arguments: json(PWNED) }],
        },
      },
      {
        type: "response.output_item.done",
        output_index: 0,
        item: { ...item, arguments: json(PWNED) },
      },
    ]);
    const after = await agree(task);
    expect(
      pendingToolCalls(task).map(({ inputParameters }) => inputParameters),
    ).toEqual([{ command: "touch shown" }]);
    expect(pendingToolCalls(after)).toEqual([]);
    expect([
      existsSync(join(workspace, "shown")),
      existsSync(join(workspace, "pwned")),
    ]).toEqual([true, false]);
  });

  it.each([
    ["control characters", "c\u0000\u001b[2J\u202e\n"],
    ["no end", "c".repeat(200_000)],
    ["the id of nothing", "__proto__"],
  ])("gives no call an id with %s", async (_, callId) => {
    const task = await ask([
      callOf(callId, { command: "touch one" }),
      callOf("d", { command: "touch two" }),
      COMPLETED,
    ]);
    const ids = task.history
      .flatMap(toolCallsOf)
      .map(({ toolCallId }) => toolCallId);
    expect(new Set(ids).size).toBeGreaterThan(0);
    for (const id of ids) expect(id).toMatch(/^[\w-]{1,64}$/);
  });

  it("has a second call under an id of before asked about by itself, and not run by the first one's answer", async () => {
    const task = await ask(
      [callOf("same", { command: "touch harmless" }), COMPLETED],
      [callOf("same", PWNED), COMPLETED],
    );
    const after = await agree(task);
    expect(
      pendingToolCalls(after).map(({ inputParameters }) => inputParameters),
    ).toEqual([PWNED]);
    expect([
      existsSync(join(workspace, "harmless")),
      existsSync(join(workspace, "pwned")),
    ]).toEqual([true, false]);
  });

  it.each([
    [
      "a shell of the API's own",
      {
        type: "local_shell_call",
        call_id: "c",
        action: { type: "exec", command: ["touch", "pwned"] },
      },
    ],
    [
      "another shell",
      {
        type: "shell_call",
        call_id: "c",
        action: { commands: ["touch pwned"] },
      },
    ],
    [
      "a patch",
      {
        type: "apply_patch_call",
        call_id: "c",
        operation: { type: "create_file", path: "pwned", diff: "+x" },
      },
    ],
    [
      "a custom tool",
      {
        type: "custom_tool_call",
        call_id: "c",
        name: "run_shell_command",
        input: "touch pwned",
      },
    ],
    [
      "a tool of an MCP server",
      {
        type: "mcp_call",
        name: "run_shell_command",
        arguments: json(PWNED),
        server_label: "x",
      },
    ],
    [
      "the approval of one",
      {
        type: "mcp_approval_request",
        name: "run_shell_command",
        arguments: json(PWNED),
      },
    ],
    [
      "an unknown item",
      { type: "function_call_output", call_id: "c", output: "approved" },
    ],
    ["nothing", null],
    ["a list", [{ type: "function_call" }]],
    [
      "a call without a name",
      { type: "function_call", call_id: "c", arguments: json(PWNED) },
    ],
    ["a message without content", { type: "message", content: null }],
    [
      "a message with nothing as content",
      {
        type: "message",
        content: [null, { type: "output_text", annotations: null }],
      },
    ],
    [
      "invalid reasoning",
      { type: "reasoning", encrypted_content: { a: 1 }, summary: null },
    ],
  ])(
    "runs and asks nothing by %s, and the next message is answered",
    async (_, item) => {
      const task = await ask([
        { type: "response.output_item.done", output_index: 0, item },
        ...SAID,
      ]);
      expect(pendingToolCalls(task)).toEqual([]);
      expect(
        task.history.flatMap(toolCallsOf).map(({ status }) => status),
      ).not.toContain(ToolCallStatus.SUCCEEDED);
      expect(existsSync(join(workspace, "pwned"))).toBe(false);
      expect((await ask(SAID)).state).toBe(TaskState.COMPLETED);
    },
  );

  it.each([
    [
      "a number that is too big",
      '{"file_path":"a.txt","offset":1e999,"limit":-1e999}',
    ],
    [
      "such a number beside what the tool has",
      '{"file_path":"a.txt","__proto__":{"n":[1e999]}}',
    ],
    ["half a character", '{"file_path":"\\ud800","\\udfff":"\\ud800"}'],
    [
      "much depth",
      `{"file_path":"a.txt","x":${"[".repeat(3000)}${"]".repeat(3000)}}`,
    ],
    ["many values", `{"file_path":"a.txt","x":[${"0,".repeat(200_000)}0]}`],
  ])("cannot hide its task by arguments with %s", async (_, text) => {
    const item = {
      type: "function_call",
      call_id: "c",
      name: "read_file",
      arguments: text,
    };
    const task = await ask([
      { type: "response.output_item.done", output_index: 0, item },
      COMPLETED,
    ]);
    const headers = { authorization: `Bearer ${server.token}` };
    for (const version of ["0.3", "1.0"]) {
      const path =
        version === "0.3" ? `/v1/tasks/${task.id}` : `/tasks/${task.id}`;
      const shown = await fetch(`${server.url}${path}`, {
        headers: { ...headers, "a2a-version": version },
      });
      expect([version, shown.status]).toEqual([version, 200]);
      await shown.json();
    }
    const path = `${server.url}/devtool.v1alpha.TaskService/GetTask`;
    const body = JSON.stringify({ taskId: task.id });
    const type = { "content-type": "application/json" };
    const shown = await fetch(path, {
      method: "POST",
      headers: { ...headers, ...type },
      body,
    });
    expect([shown.status, await shown.json()]).toEqual([
      200,
      expect.objectContaining({ task: expect.anything() }),
    ]);
  });

  async function ask(...streams: (readonly object[])[]): Promise<Task> {
    answers = streams.map(streamOf);
    const { task } = await clientOf(server).tasks.sendMessage({
      message: textMessage(randomUUID(), "go"),
    });
    return task ?? expect.unreachable();
  }

  async function agree(task: Task): Promise<Task> {
    const [call = expect.unreachable()] = pendingToolCalls(task);
    const message = {
      messageId: randomUUID(),
      parts: [confirmationPart(call, "proceed_once")],
    };
    const answered = await clientOf(server).tasks.sendMessage({
      message,
      taskId: task.id,
    });
    return answered.task ?? expect.unreachable();
  }
});

function callOf(callId: string, args: object): object {
  const item = {
    type: "function_call",
    call_id: callId,
    name: "run_shell_command",
    arguments: json(args),
  };
  return { type: "response.output_item.done", output_index: 0, item };
}

function json(value: object): string {
  return JSON.stringify(value);
}

function streamOf(events: readonly object[]): string {
  return events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");
}
