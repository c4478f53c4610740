import { create } from "@bufbuild/protobuf";
import { createAnthropicModel } from "@devtool/anthropic";
import { startFakeAnthropic } from "@devtool/anthropic/testing";
import {
  confirmationPart,
  pendingToolCalls,
  streamMessage,
} from "@devtool/client";
import { type Model, serveCodingAgent } from "@devtool/coding-agent";
import { fileText } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { createOpenAiModel } from "@devtool/openai";
import { startFakeOpenAi } from "@devtool/openai/testing";
import {
  emptyTask,
  PartSchema,
  Role,
  reduceTask,
  type Task,
  type TaskEvent,
  TaskState,
  ToolCallStatus,
} from "@devtool/schema";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { clientOf } from "../client-of.ts";

const signal = AbortSignal.timeout(300_000);
const PNG = Buffer.from("iVBORw0KGgo=", "base64");

type Fake = Awaited<ReturnType<typeof startFakeOpenAi>>;

const APIS: readonly {
  readonly api: string;
  readonly start: () => Promise<Fake>;
  readonly createModel: (url: string) => Model;
  /** Whether the model's thoughts go back to it with its calls. */
  readonly signs: boolean;
}[] = [
  {
    api: "OpenAI's Responses API",
    start: startFakeOpenAi,
    createModel: (url) =>
      createOpenAiModel({
        apiKey: "k",
        baseUrl: `${url}/v1`,
        api: "responses",
        model: "gpt-test",
      }),
    signs: true,
  },
  {
    api: "OpenAI's Chat Completions API",
    start: startFakeOpenAi,
    createModel: (url) =>
      createOpenAiModel({
        apiKey: "k",
        baseUrl: `${url}/v1`,
        model: "gpt-test",
      }),
    signs: false,
  },
  {
    api: "a local server that needs no key",
    start: () => startFakeOpenAi({ key: "optional" }),
    createModel: (url) =>
      createOpenAiModel({ baseUrl: `${url}/v1`, model: "qwen-test" }),
    signs: false,
  },
  {
    api: "Anthropic's Messages API",
    start: startFakeAnthropic,
    createModel: (url) => createAnthropicModel({ apiKey: "k", baseUrl: url }),
    signs: true,
  },
];

describe.each(APIS)(
  "the coding agent over $api",
  ({ start, createModel, signs }) => {
    let fake: Fake;
    let workspace: string;
    beforeEach(async () => {
      fake = await start();
      workspace = temporaryDirectory();
    });
    afterEach(() => fake[Symbol.asyncDispose]());

    it("thinks, asks, runs what was approved, and answers", async () => {
      await using server = await serveCodingAgent({
        workspace,
        model: createModel(fake.url),
        drainMs: 100,
      });
      const client = clientOf(server, "2");
      const script =
        "think\ntext First.\nwrite a.txt one\nwrite b.txt two\ntext Done.";
      const source = { case: "bytes", value: PNG } as const;
      const parts = [
        create(PartSchema, { content: { case: "text", value: script } }),
        create(PartSchema, {
          content: { case: "file", value: { mediaType: "image/png", source } },
        }),
      ];
      const asked = await fold(
        streamMessage(client, { message: { messageId: "m1", parts } }, signal),
        emptyTask(),
      );
      expect(asked.state).toBe(TaskState.INPUT_REQUIRED);
      const answers = pendingToolCalls(asked).map((call) =>
        confirmationPart(call, "proceed_once"),
      );
      expect(answers).toHaveLength(2);
      const message = { messageId: "m2", parts: answers };
      const task = await fold(
        streamMessage(client, { message, taskId: asked.id }, signal),
        asked,
      );

      expect(task).toMatchObject({ state: TaskState.COMPLETED, error: "" });
      expect(fileText(workspace, "a.txt")).toContain("one");
      expect(fileText(workspace, "b.txt")).toContain("two");
      const contents = task.history
        .filter(({ role }) => role === Role.AGENT)
        .flatMap((each) => each.parts);
      expect(contents.map(({ content }) => content)).toMatchObject([
        {
          case: "thought",
          value: { subject: "Subject 1", description: "Description 1." },
        },
        { case: "text", value: "First." },
        {
          case: "toolCall",
          value: { toolName: "write_file", status: ToolCallStatus.SUCCEEDED },
        },
        {
          case: "toolCall",
          value: { toolName: "write_file", status: ToolCallStatus.SUCCEEDED },
        },
        { case: "text", value: "Done." },
      ]);
      const [first, second] = fake.requests();
      expect(JSON.stringify(first?.body)).toContain(PNG.toString("base64"));
      expect(first?.tools).toContain("write_file");
      expect(second?.signatures).toHaveLength(signs ? 1 : 0);
      expect(task.usage?.inputTokens).toBeGreaterThan(0n);
    });
  },
);

async function fold(
  events: AsyncIterable<TaskEvent>,
  start: Task,
): Promise<Task> {
  let task = start;
  for await (const event of events) task = reduceTask(task, event);
  return task;
}
