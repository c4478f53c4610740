import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { createAnthropicModel } from "@devtool/anthropic";
import { pendingToolCalls, textMessage } from "@devtool/client";
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

/** A call as a model sends it: its name, and its arguments as text. */
type RawCall = readonly [name: string, argumentsText: string];

const COMMAND = '{"command":"touch pwned"}';
const CALLS: readonly (readonly [string, RawCall])[] = [
  ["a name of another alphabet", ["run_shell_\u0441ommand", COMMAND]],
  ["a name with an invisible character", ["run_shell_command\u200b", COMMAND]],
  ["a name that turns the text", ["\u202erun_shell_command", COMMAND]],
  ["the name of the prototype", ["__proto__", COMMAND]],
  ["the name of a constructor", ["constructor", COMMAND]],
  ["arguments that are a list", ["run_shell_command", '["touch pwned"]']],
  ["arguments that are text", ["run_shell_command", JSON.stringify(COMMAND)]],
  ["arguments that are nothing", ["run_shell_command", "null"]],
  [
    "arguments under the prototype",
    ["run_shell_command", `{"__proto__":${COMMAND}}`],
  ],
  [
    "arguments of 10 MB",
    [
      "run_shell_command",
      `{"command":"touch pwned","description":"${"a".repeat(10_000_000)}"}`,
    ],
  ],
  [
    "arguments that break off",
    ["run_shell_command", '{"command":"touch pwned"'],
  ],
];

const APIS = {
  OpenAI: {
    modelAt: (baseUrl: string) =>
      createOpenAiModel({
        apiKey: "none",
        baseUrl,
        model: "m",
        api: "chat-completions",
      }),
    answer: (calls: readonly RawCall[]) => [
      {
        choices: [
          {
            index: 0,
            delta:
              calls.length === 0
                ? { content: "Done." }
                : { tool_calls: calls.map(chatCall) },
            finish_reason: calls.length === 0 ? "stop" : "tool_calls",
          },
        ],
      },
    ],
  },
  Anthropic: {
    modelAt: (baseUrl: string) =>
      createAnthropicModel({ apiKey: "none", baseUrl, model: "m" }),
    answer: (calls: readonly RawCall[]) => [
      {
        type: "message_start",
        message: { usage: { input_tokens: 1, output_tokens: 1 } },
      },
      ...(calls.length === 0
        ? [
            {
              type: "content_block_start",
              index: 0,
              content_block: { type: "text", text: "Done." },
            },
          ]
        : calls.flatMap(messagesCall)),
      {
        type: "message_delta",
        delta: { stop_reason: calls.length === 0 ? "end_turn" : "tool_use" },
        usage: {},
      },
      { type: "message_stop" },
    ],
  },
};

describe.each(Object.entries(APIS))(
  "a model that deceives, over the API of %s",
  (_name, api) => {
    let workspace: string;
    let answers: RawCall[][] = [];
    let http: Server;
    let server: DevtoolServer;
    beforeAll(async () => {
      workspace = temporaryDirectory();
      http = createServer((request, response) => {
        request.resume().on("end", () => {
          response.setHeader("content-type", "text/event-stream");
          for (const event of api.answer(answers.shift() ?? [])) {
            if ("type" in event) response.write(`event: ${event.type}\n`);
            response.write(`data: ${JSON.stringify(event)}\n\n`);
          }
          response.end(
            "type" in (api.answer([])[0] ?? {}) ? "" : "data: [DONE]\n\n",
          );
        });
      });
      http.listen(0, "127.0.0.1");
      await once(http, "listening");
      const address: AddressInfo | string | null = http.address();
      const port = typeof address === "object" ? address?.port : 0;
      server = await serveCodingAgent({
        workspace,
        model: api.modelAt(`http://127.0.0.1:${port}`),
      });
    });
    afterAll(async () => {
      await server.close();
      http.close();
    });

    it.each(CALLS)("runs and asks nothing with %s", async (_what, call) => {
      const task = await play([call]);
      expect(pendingToolCalls(task)).toEqual([]);
      expect(
        task.history.flatMap(toolCallsOf).map(({ status }) => status),
      ).not.toContain(ToolCallStatus.SUCCEEDED);
      expect(existsSync(join(workspace, "pwned"))).toBe(false);
    });

    it("B16: asks about two calls under one id, each with its own arguments", async () => {
      const task = await play([
        ["run_shell_command", '{"command":"touch first"}'],
        ["run_shell_command", COMMAND],
      ]);
      expect(task.state).toBe(TaskState.INPUT_REQUIRED);
      expect(
        pendingToolCalls(task).map(
          ({ inputParameters }) => inputParameters?.command,
        ),
      ).toEqual(["touch first", "touch pwned"]);
    });

    async function play(calls: RawCall[]): Promise<Task> {
      answers = [calls];
      const { task } = await clientOf(server).tasks.sendMessage({
        message: textMessage(randomUUID(), "go"),
      });
      return task ?? expect.fail("no task");
    }
  },
);

function chatCall([name, argumentsText]: RawCall, index: number) {
  return {
    index,
    id: "one",
    type: "function",
    function: { name, arguments: argumentsText },
  };
}

function messagesCall([name, argumentsText]: RawCall, index: number) {
  return [
    {
      type: "content_block_start",
      index,
      content_block: { type: "tool_use", id: "one", name, input: {} },
    },
    {
      type: "content_block_delta",
      index,
      delta: { type: "input_json_delta", partial_json: argumentsText },
    },
    { type: "content_block_stop", index },
  ];
}
