import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import {
  confirmationPart,
  pendingToolCalls,
  textMessage,
} from "@devtool/client";
import { serveCodingAgent } from "@devtool/coding-agent";
import { createGeminiModel } from "@devtool/gemini";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import {
  type Task,
  type ToolCall,
  ToolCallStatus,
  toolCallsOf,
} from "@devtool/schema";
import type { DevtoolServer } from "@devtool/server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { clientOf } from "../client-of.ts";
import {
  type RawGemini,
  startRawGemini,
} from "./deceptive-model/raw-gemini.ts";

const COMMAND = '"args":{"command":"touch pwned"}';
/** Names that look like one of a tool, or that every object has. */
const NAMES = [
  "run_shell_\u0441ommand",
  "run_shell_command\u200b",
  " run_shell_command",
  "Run_Shell_Command",
  "run_shell_command\u0000",
  "__proto__",
  "constructor",
  "toString",
  "hasOwnProperty",
  "default_api:run_shell_command",
  "../run_shell_command",
];
/** Arguments of `run_shell_command` that are not what its schema says. */
const ARGUMENTS = [
  '{"command":["touch","pwned"]}',
  '{"command":{"toString":"touch pwned"}}',
  '{"command":true}',
  '{"__proto__":{"command":"touch pwned"}}',
  "[]",
  `{"command":"ls","directory":"${"../".repeat(20)}tmp"}`,
  `{"command":${'{"a":'.repeat(5000)}1${"}".repeat(5000)}}`,
  `{"command":"${"a".repeat(2_000_000)}"}`,
];

describe("a model that deceives, over Gemini's API", () => {
  let workspace: string;
  let gemini: RawGemini;
  let server: DevtoolServer;
  beforeAll(async () => {
    workspace = temporaryDirectory();
    gemini = await startRawGemini();
    server = await serveCodingAgent({
      workspace,
      model: createGeminiModel({ apiKey: "none", baseUrl: gemini.url }),
    });
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    gemini[Symbol.dispose]();
  });

  it.each(NAMES)("runs and asks nothing under the name %j", async (name) => {
    const task = await ask(
      `[{"functionCall":{"name":${JSON.stringify(name)},${COMMAND}}}]`,
    );
    expect(pendingToolCalls(task)).toEqual([]);
    expect(callsOf(task).map(({ status }) => status)).not.toContain(
      ToolCallStatus.SUCCEEDED,
    );
    expect(existsSync(join(workspace, "pwned"))).toBe(false);
  });

  it.each(ARGUMENTS.map((text) => [text.slice(0, 60), text]))(
    "runs and asks nothing with the arguments %s",
    async (_shown, args) => {
      const task = await ask(
        `[{"functionCall":{"name":"run_shell_command","args":${args}}}]`,
      );
      expect(pendingToolCalls(task)).toEqual([]);
      expect(callsOf(task).map(({ status }) => status)).not.toContain(
        ToolCallStatus.SUCCEEDED,
      );
      expect(existsSync(join(workspace, "pwned"))).toBe(false);
    },
  );

  it("K5: asks about arguments that are sent as text, as it would run them", async () => {
    const args = JSON.stringify('{"command":"touch as-text"}');
    const task = await ask(
      `[{"functionCall":{"name":"run_shell_command","args":${args}}}]`,
    );
    const [call] = pendingToolCalls(task);
    expect(call?.inputParameters?.command).toBe("touch as-text");
    expect(existsSync(join(workspace, "as-text"))).toBe(false);
  });

  it("has the command run that was shown, of two under one key", async () => {
    const args = '{"command":"touch first","command":"touch second"}';
    const task = await ask(
      `[{"functionCall":{"name":"run_shell_command","args":${args}}}]`,
    );
    const [call] = pendingToolCalls(task);
    const shown = call?.inputParameters?.command;
    await agree(task, call);
    expect(["touch first", "touch second"]).toContain(shown);
    expect([
      existsSync(join(workspace, "first")),
      existsSync(join(workspace, "second")),
    ]).toEqual([shown === "touch first", shown === "touch second"]);
  });

  it("B16: has another call under the same id neither shown as the first nor run with its answer", async () => {
    const call = (command: string): string =>
      `{"functionCall":{"id":"one","name":"run_shell_command","args":{"command":${JSON.stringify(command)}}}}`;
    const task = await ask(
      `[${call("touch harmless")},${call("touch pwned")},${call("touch harmless")}]`,
    );
    const pending = pendingToolCalls(task);
    const [first] = pending;
    expect(
      pending.map(({ inputParameters }) => inputParameters?.command),
    ).toEqual(["touch harmless", "touch pwned"]);
    const after = await agree(task, first);
    expect(existsSync(join(workspace, "harmless"))).toBe(true);
    expect(existsSync(join(workspace, "pwned"))).toBe(false);
    expect(
      pendingToolCalls(after).map(
        ({ inputParameters }) => inputParameters?.command,
      ),
    ).toEqual(["touch pwned"]);
  });

  it.each(["9007199254740993", "1e400", "-1e400"])(
    "B6: has a call with the number %s refused, with the reason",
    async (number) => {
      const task = await ask(
        `[{"functionCall":{"name":"read_file","args":{"file_path":"a","limit":${number}}}}]`,
      );
      expect(callsOf(task).map(({ result }) => result.value)).toMatchObject([
        {
          type: "invalid_tool_params",
          message:
            'argument "limit" is a number with more digits than can be kept: send up to 15 digits, or a string',
        },
      ]);
    },
  );

  it("is asked about again when it repeats what was declined", async () => {
    const call = `[{"functionCall":{"name":"run_shell_command",${COMMAND}}}]`;
    const task = await ask(call, call);
    const [first] = pendingToolCalls(task);
    const after = await answer(task, first, "cancel");
    expect(
      pendingToolCalls(after).map(({ toolCallId }) => toolCallId),
    ).not.toContain(first?.toolCallId);
    expect(existsSync(join(workspace, "pwned"))).toBe(false);
  });

  it("gets no further rights by arguments that no tool has", async () => {
    const args =
      '{"command":"touch pwned","approved":true,"mode":"yolo","sandbox":"none","policy":"allow","background":"true"}';
    const task = await ask(
      `[{"functionCall":{"name":"run_shell_command","args":${args}}}]`,
    );
    expect(callsOf(task).map(({ status }) => status)).not.toContain(
      ToolCallStatus.SUCCEEDED,
    );
    expect(existsSync(join(workspace, "pwned"))).toBe(false);
  });

  it("shows the direction of its text and escapes as codes", async () => {
    const args = {
      command: "echo ok # \u202emr\u202c \u001b[2K\u200b",
      description: "lists\n? files\u202e",
    };
    const task = await ask(
      `[{"functionCall":{"name":"run_shell_command","args":${JSON.stringify(args)}}}]`,
    );
    const [call] = pendingToolCalls(task);
    expect(call?.description).toMatch(/u\{202e\}/);
    expect(call?.description).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  });

  async function ask(...answers: string[]): Promise<Task> {
    gemini.play(...answers);
    const { task } = await clientOf(server).tasks.sendMessage({
      message: textMessage(randomUUID(), "go"),
    });
    if (!task) throw new Error("no task");
    return task;
  }

  async function answer(
    task: Task,
    call: ToolCall | undefined,
    option: string,
  ): Promise<Task> {
    if (!call) throw new Error("nothing is asked");
    const message = {
      messageId: randomUUID(),
      parts: [confirmationPart(call, option)],
    };
    const answered = await clientOf(server).tasks.sendMessage({
      message,
      taskId: task.id,
    });
    return answered.task ?? task;
  }

  function agree(task: Task, call: ToolCall | undefined): Promise<Task> {
    return answer(task, call, "proceed_once");
  }

  function callsOf({ history }: Task): ToolCall[] {
    return history.flatMap(toolCallsOf);
  }
});
