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

  it("streams a message: a thought with its signature, text and a call, then the usage", async () => {
    const request = {
      model: "claude-test",
      max_tokens: 4096,
      thinking: THINKS,
      stream: true,
    } as const;
    const events: Anthropic.RawMessageStreamEvent[] = [];
    const messages = [prompt("think\ntext a\ntext b\nread x")];
    for await (const event of await sdk.messages.create({
      ...request,
      tools: [TOOL],
      messages,
    })) {
      events.push(event);
    }
    expect(
      events.map((event) =>
        event.type === "content_block_delta" ? event.delta.type : event.type,
      ),
    ).toEqual([
      "message_start",
      "content_block_start",
      "thinking_delta",
      "thinking_delta",
      "signature_delta",
      "content_block_stop",
      "content_block_start",
      "text_delta",
      "text_delta",
      "content_block_stop",
      "content_block_start",
      "input_json_delta",
      "input_json_delta",
      "input_json_delta",
      "content_block_stop",
      "message_delta",
      "message_stop",
    ]);
    expect(events.at(-2)).toMatchObject({
      delta: { stop_reason: "tool_use" },
      usage: { output_tokens: 4 },
    });
  });

  it("gives the same message in one piece, and no thought that nobody asked for", async () => {
    expect(await ask([prompt("think\ntext a\ntext b")])).toMatchObject({
      content: [{ type: "text", text: "ab" }],
      stop_reason: "end_turn",
    });
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

  it("fails as the script says", async () => {
    await expect(ask([prompt("fail 529 1")])).rejects.toMatchObject({
      status: 529,
    });
    await expect(
      ask([prompt("finish SAFETY\ntext no")]),
    ).resolves.toMatchObject({ stop_reason: "refusal" });
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
