import type { FakeModel } from "@devtool/coding-agent/testing/fake-model";
import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startFakeOpenAi } from "./fake-openai.ts";

describe("the fake of OpenAI's API", () => {
  let fake: FakeModel;
  let sdk: OpenAI;
  beforeAll(async () => {
    fake = await startFakeOpenAi();
    sdk = new OpenAI({ apiKey: "k", baseURL: `${fake.url}/v1`, maxRetries: 0 });
  });
  afterAll(() => fake[Symbol.asyncDispose]());

  const refused: readonly (readonly [
    what: string,
    path: string,
    body: object,
    status: number,
    message: RegExp,
  ])[] = [
    [
      "an unknown parameter",
      "responses",
      { model: "m", input: "x", topp: 1 },
      400,
      /Unknown parameter: 'topp'/,
    ],
    [
      "an empty input",
      "responses",
      { model: "m", input: [] },
      400,
      /minimum length 1/,
    ],
    [
      "a result without its call",
      "responses",
      {
        model: "m",
        input: [{ type: "function_call_output", call_id: "1", output: "" }],
      },
      400,
      /No tool call found/,
    ],
    [
      "a call without its result",
      "responses",
      {
        model: "m",
        input: [
          { type: "function_call", call_id: "1", name: "a", arguments: "{}" },
        ],
      },
      400,
      /No tool output found/,
    ],
    [
      "reasoning of another's making",
      "responses",
      {
        model: "m",
        input: [
          {
            type: "reasoning",
            id: "rs_1",
            summary: [],
            encrypted_content: "?",
          },
        ],
      },
      400,
      /could not be verified/,
    ],
    [
      "reasoning by its name alone where nothing is stored",
      "responses",
      {
        model: "m",
        store: false,
        input: [{ type: "reasoning", id: "rs_1", summary: [] }],
      },
      400,
      /not persisted/,
    ],
    [
      "a tool with a name that is not allowed",
      "responses",
      {
        model: "m",
        input: "x",
        tools: [{ type: "function", name: "a b", parameters: {} }],
      },
      400,
      /pattern/,
    ],
    [
      "a tool message without a call",
      "chat/completions",
      {
        model: "m",
        messages: [{ role: "tool", tool_call_id: "1", content: "" }],
      },
      400,
      /No tool call found/,
    ],
    [
      "usage without a stream",
      "chat/completions",
      { model: "m", messages: [], stream_options: {} },
      400,
      /stream_options/,
    ],
    ["another path", "completions", {}, 404, /Invalid URL/],
  ];
  it.each(refused)("refuses %s", async (_what, path, body, status, message) => {
    const headers = { authorization: "Bearer k" };
    const response = await fetch(`${fake.url}/v1/${path}`, {
      method: "POST",
      body: JSON.stringify(body),
      headers,
    });
    expect(response.status).toBe(status);
    expect(await response.json()).toMatchObject({
      error: { message: expect.stringMatching(message) },
    });
  });

  it("lists its models, and refuses requests without a key unless it needs none", async () => {
    expect((await sdk.models.list()).data).toMatchObject([
      { id: "gpt-test", object: "model" },
    ]);
    expect((await fetch(`${fake.url}/v1/models`)).status).toBe(401);
    await using open = await startFakeOpenAi({
      key: "optional",
      models: ["a", "b"],
    });
    expect(await (await fetch(`${open.url}/v1/models`)).json()).toMatchObject({
      data: [{ id: "a" }, { id: "b" }],
    });
  });
});
