import Anthropic from "@anthropic-ai/sdk";
import type { FakeModel } from "@devtool/coding-agent/testing/fake-model";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startFakeAnthropic } from "./fake-anthropic.ts";

const TOOL: Anthropic.Tool = {
  name: "read_file",
  input_schema: { type: "object", properties: {} },
};
const THINKS = { type: "enabled", budget_tokens: 1024 } as const;

describe("the fake of Anthropic's API", () => {
  let fake: FakeModel;
  let sdk: Anthropic;
  beforeAll(async () => {
    fake = await startFakeAnthropic();
    sdk = new Anthropic({ apiKey: "k", baseURL: fake.url, maxRetries: 0 });
  });
  afterAll(() => fake[Symbol.asyncDispose]());

  const ask = (
    messages: Anthropic.MessageParam[],
    more: Partial<Anthropic.MessageCreateParamsNonStreaming> = {},
  ): Promise<Anthropic.Message> =>
    sdk.messages.create({
      model: "claude-test",
      max_tokens: 4096,
      messages,
      ...more,
    });
  const prompt = (content: string): Anthropic.MessageParam => ({
    role: "user",
    content,
  });

  it("follows a conversation through its results, and wants the thoughts of calls back unchanged", async () => {
    const script = prompt("think\nread a\ntext then");
    const { content } = await ask([script], {
      thinking: THINKS,
      tools: [TOOL],
    });
    const call = content.find((block) => block.type === "tool_use");
    const results = {
      type: "tool_result",
      tool_use_id: call?.id ?? "",
      content: "x",
    } as const;
    const goOn = (
      blocks: Anthropic.ContentBlockParam[],
    ): Promise<Anthropic.Message> =>
      ask(
        [
          script,
          { role: "assistant", content: blocks },
          { role: "user", content: [results] },
        ],
        {
          thinking: THINKS,
          tools: [TOOL],
        },
      );
    expect((await goOn(content)).content).toMatchObject([
      { type: "text", text: "then" },
    ]);
    await expect(goOn(content.slice(1))).rejects.toThrow(/Expected `thinking`/);
    const changed = content.map((block) =>
      block.type === "thinking" ? { ...block, thinking: "other" } : block,
    );
    await expect(goOn(changed)).rejects.toThrow(/Invalid `signature`/);
  });

  const messages = [{ role: "user", content: "x" }];
  const refused: readonly (readonly [
    what: string,
    body: object,
    message: RegExp,
  ])[] = [
    ["an unknown field", { messages, topp: 1 }, /topp: Extra inputs/],
    [
      "an empty text",
      { messages: [{ role: "user", content: [{ type: "text", text: "" }] }] },
      /non-whitespace/,
    ],
    [
      "a conversation that the model begins",
      { messages: [{ role: "assistant", content: "x" }] },
      /first message/,
    ],
    [
      "a call that the next message does not answer",
      {
        messages: [
          ...messages,
          {
            role: "assistant",
            content: [{ type: "tool_use", id: "a", name: "b", input: {} }],
          },
        ],
      },
      /without `tool_result`/,
    ],
    [
      "a result without its call",
      {
        messages: [
          {
            role: "user",
            content: [{ type: "tool_result", tool_use_id: "a", content: "" }],
          },
        ],
      },
      /unexpected `tool_use_id`/,
    ],
    [
      "thoughts that are larger than the answer",
      { messages, thinking: { type: "enabled", budget_tokens: 9999 } },
      /greater/,
    ],
  ];
  it.each(refused)("refuses %s", async (_what, body, message) => {
    const response = await fetch(`${fake.url}/v1/messages`, {
      method: "POST",
      body: JSON.stringify({ model: "m", max_tokens: 2048, ...body }),
      headers: { "x-api-key": "k", "anthropic-version": "2023-06-01" },
    });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      type: "error",
      error: {
        type: "invalid_request_error",
        message: expect.stringMatching(message),
      },
    });
  });

  it("refuses requests without a key", async () => {
    expect((await fetch(`${fake.url}/v1/models`)).status).toBe(401);
    expect((await sdk.models.list()).data).toMatchObject([
      { id: "claude-test" },
    ]);
  });
});
