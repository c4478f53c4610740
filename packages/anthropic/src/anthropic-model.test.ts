import type { Model, ModelEvent } from "@devtool/coding-agent/model";
import {
  type FakeModel,
  message,
  requestOf,
  text,
} from "@devtool/coding-agent/testing/fake-model";
import { Role, ToolCallStatus } from "@devtool/schema";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createAnthropicModel } from "./anthropic-model.ts";
import type { AnthropicOptions } from "./anthropic-options.ts";
import { startFakeAnthropic } from "./testing/fake-anthropic.ts";

const { signal } = new AbortController();
const API_KEY = "sk-ant-a-secret-key-of-some-length";

describe("the Anthropic model", () => {
  let fake: FakeModel;
  const waits: number[] = [];
  beforeAll(async () => {
    fake = await startFakeAnthropic();
  });
  beforeEach(() => {
    waits.length = 0;
    fake.reset();
  });
  afterAll(() => fake[Symbol.asyncDispose]());

  const model = (options: AnthropicOptions = {}): Model =>
    createAnthropicModel({
      apiKey: API_KEY,
      baseUrl: fake.url,
      random: () => 0.5,
      sleep: async (ms) => void waits.push(ms),
      ...options,
    });
  const ask = (
    prompt: string,
    options?: AnthropicOptions,
  ): Promise<ModelEvent[]> =>
    Array.fromAsync(
      model(options).generate(
        requestOf([message(Role.USER, [text(prompt)])]),
        signal,
      ),
    );

  it("declares tools whose schemas have alternatives at the root, which the API refuses", async () => {
    const parameters = {
      oneOf: [
        { properties: { path: { type: "string" } }, required: ["path"] },
        { $ref: "#/$defs/ByUrl" },
      ],
      allOf: [{ properties: { deep: { anyOf: [{}] } }, required: ["deep"] }],
      $defs: { ByUrl: { properties: { path: { const: 1 }, url: {} } } },
    };
    const tools = [{ name: "rootany", description: "", parameters }];
    const history = [message(Role.USER, [text("text hi")])];
    const asked = { ...requestOf(history), tools };
    const events = await Array.fromAsync(model().generate(asked, signal));
    expect(events[0]).toMatchObject({ case: "text", value: "hi" });
    expect(fake.requests()[0]?.body).toMatchObject({
      tools: [
        {
          input_schema: {
            type: "object",
            properties: {
              path: { anyOf: [{ type: "string" }, { const: 1 }] },
              url: {},
              deep: { anyOf: [{}] },
            },
            required: ["deep"],
          },
        },
      ],
    });
  });

  it("omits what is empty, and joins what the user said in a row", async () => {
    const history = [
      message(Role.USER, [text("hello"), text(" ")]),
      message(Role.AGENT, [text("\n")]),
      message(Role.USER, [text("text a")]),
    ];
    expect(
      await Array.fromAsync(model().generate(requestOf(history), signal)),
    ).toContainEqual({ case: "text", value: "a" });
    expect(fake.requests().at(-1)?.body).toMatchObject({
      messages: [
        { role: "user", content: [{ text: "hello" }, { text: "text a" }] },
      ],
    });
  });

  it("marks the results of calls that failed", async () => {
    const result = {
      case: "error",
      value: { message: "no such file" },
    } as const;
    const value = {
      toolCallId: "1",
      toolName: "read_file",
      status: ToolCallStatus.FAILED,
      result,
    };
    const history = [
      message(Role.USER, [text("read x\ntext then")]),
      message(Role.AGENT, [{ content: { case: "toolCall", value } }]),
    ];
    await Array.fromAsync(model().generate(requestOf(history), signal));
    expect(fake.requests().at(-1)?.body).toMatchObject({
      messages: [
        {},
        {},
        {
          content: [
            {
              is_error: true,
              content: expect.stringContaining("no such file"),
            },
          ],
        },
      ],
    });
  });

  it("asks again with growing waits, and as long as the API asks", async () => {
    await ask("fail 429 2 after 7\ntext done");
    await ask("fail 529 2\ntext done");
    expect(waits).toEqual([7000, 7000, 500, 1000]);
  });

  it.each([
    ["MAX_TOKENS", /output limit: ask it to go on/],
    ["CONTEXT", /input limit: run \/compress/],
    ["REFUSAL", /the model refused to answer \(general_harms\)/],
    ["PAUSE", /stopped for the reason "pause_turn"/],
  ])(
    "fails when the answer ends with %s, and none of its calls runs",
    async (reason, error) => {
      const events: ModelEvent[] = [];
      const prompt = message(Role.USER, [
        text(`text begun\nrun ls\nfinish ${reason}`),
      ]);
      const failing = async (): Promise<void> => {
        for await (const event of model().generate(
          requestOf([prompt]),
          signal,
        )) {
          events.push(event);
        }
      };
      await expect(failing()).rejects.toThrow(error);
      expect(events).toEqual([{ case: "text", value: "begun" }]);
    },
  );

  it("asks for thoughts within a budget, or for none", async () => {
    const events = await ask("think\ntext a", { thinking: 2048 });
    expect(events.at(-1)).toMatchObject({ value: { thoughtTokens: 1n } });
    expect(fake.requests().at(-1)?.body).toMatchObject({
      thinking: { type: "enabled", budget_tokens: 2048 },
    });
    expect(
      (await ask("think\ntext a", { thinking: 0 })).map(
        ({ case: kind }) => kind,
      ),
    ).toEqual(["text", "usage"]);
  });
});
