import type { Model, ModelEvent } from "@devtool/coding-agent/model";
import {
  type FakeModel,
  message,
  requestOf,
  serveResponse,
  text,
} from "@devtool/coding-agent/testing/fake-model";
import { Role, ToolCallStatus } from "@devtool/schema";
import {
  afterAll,
  beforeAll,
  beforeEach,
  describe,
  expect,
  it,
  vi,
} from "vitest";
import { createOpenAiModel } from "./openai-model.ts";
import type { OpenAiOptions } from "./openai-options.ts";
import { startFakeOpenAi } from "./testing/fake-openai.ts";

const { signal } = new AbortController();
const API_KEY = "sk-a-secret-key-of-some-length";

describe.each(["responses", "chat-completions"] as const)(
  "the OpenAI model over %s",
  (api) => {
    let fake: FakeModel;
    const waits: number[] = [];
    beforeAll(async () => {
      fake = await startFakeOpenAi();
    });
    beforeEach(() => {
      waits.length = 0;
      fake.reset();
    });
    afterAll(() => fake[Symbol.asyncDispose]());

    const model = (options: OpenAiOptions = {}): Model =>
      createOpenAiModel({
        apiKey: API_KEY,
        baseUrl: `${fake.url}/v1`,
        model: "gpt-test",
        api,
        random: () => 0.5,
        sleep: async (ms) => void waits.push(ms),
        ...options,
      });
    const ask = (
      prompt: string,
      options?: OpenAiOptions,
    ): Promise<ModelEvent[]> =>
      Array.fromAsync(
        model(options).generate(
          requestOf([message(Role.USER, [text(prompt)])]),
          signal,
        ),
      );

    it("sends no header for a key where there is none, whatever the environment says", async () => {
      vi.stubEnv("OPENAI_API_KEY", "sk-from-the-environment");
      vi.stubEnv("OPENAI_BASE_URL", "http://127.0.0.1:1");
      await using open = await startFakeOpenAi({ key: "optional" });
      const local = createOpenAiModel({
        baseUrl: `${open.url}/v1`,
        model: "m",
        api,
      });
      await Array.fromAsync(
        local.generate(
          requestOf([message(Role.USER, [text("text a")])]),
          signal,
        ),
      );
      vi.unstubAllEnvs();
      expect(open.requests().at(-1)?.headers.authorization).toBeUndefined();
    });

    it.each([
      ["insufficient_quota", 429, /check the plan/],
      ["context_length_exceeded", 400, /run \/compress/],
    ])("does not ask again after %s", async (code, status, remedy) => {
      await using server = await serveResponse((response) => {
        response.writeHead(status, { "content-type": "application/json" });
        response.end(JSON.stringify({ error: { message: "no", code } }));
      });
      await expect(ask("text a", { baseUrl: server.url })).rejects.toThrow(
        remedy,
      );
      expect(waits).toEqual([]);
    });

    it("gives tools names that the API allows, and finds them again", async () => {
      const tools = [
        {
          name: "server.tool/a",
          description: "d",
          parameters: { type: "object" },
        },
      ];
      const request = {
        ...requestOf([message(Role.USER, [text("call server_tool_a {}")])]),
        tools,
      };
      const events = await Array.fromAsync(model().generate(request, signal));
      expect(events.at(-1)).toMatchObject({
        case: "toolCall",
        value: { name: "server.tool/a" },
      });
    });
  },
);

describe("the OpenAI model", () => {
  it("leaves out the signature of another API", async () => {
    await using fake = await startFakeOpenAi();
    const model = createOpenAiModel({
      apiKey: "k",
      baseUrl: `${fake.url}/v1`,
      api: "responses",
      model: "m",
    });
    const value = {
      toolCallId: "1",
      toolName: "read_file",
      status: ToolCallStatus.CANCELLED,
    };
    const modelSignature = new TextEncoder().encode("from-gemini");
    const history = [
      message(Role.USER, [text("read x\nnext\ntext then")]),
      message(Role.AGENT, [
        {
          content: { case: "toolCall", value },
          toolCallDetail: { modelSignature },
        },
      ]),
    ];
    await Array.fromAsync(model.generate(requestOf(history), signal));
    expect(fake.requests()[0]?.signatures).toEqual([]);
  });

  it("needs the name of a model for a server without a key", () => {
    expect(() =>
      createOpenAiModel({ baseUrl: "http://127.0.0.1:1/v1" }),
    ).toThrow(/no default model: name one/);
    expect(createOpenAiModel({ apiKey: "k" }).name).toBe("gpt-5.5");
  });

  it("reads calls that all have the index 0, as some servers send them", async () => {
    const call = (id: string, args: string) => ({
      index: 0,
      id,
      type: "function",
      function: { name: "t", arguments: args },
    });
    const chunk = (
      delta: object,
      finish_reason: string | null = null,
    ): string =>
      `data: ${JSON.stringify({ id: "x", choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
    await using server = await serveResponse((response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(
        chunk({ tool_calls: [call("1", '{"a":1}')] }) +
          chunk({ tool_calls: [call("2", "")] }),
      );
      response.end(`${chunk({}, "tool_calls")}data: [DONE]\n\n`);
    });
    const model = createOpenAiModel({ baseUrl: server.url, model: "m" });
    const events = await Array.fromAsync(
      model.generate(requestOf([message(Role.USER, [text("x")])]), signal),
    );
    expect(events).toMatchObject([
      { value: { args: { a: 1 } } },
      { value: { args: {} } },
    ]);
  });

  it("asks again after arguments that are not JSON", async () => {
    const delta = {
      tool_calls: [
        {
          index: 0,
          id: "1",
          type: "function",
          function: { name: "t", arguments: '{"a":' },
        },
      ],
    };
    await using server = await serveResponse((response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.end(
        `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: "tool_calls" }] })}\n\n`,
      );
    });
    const model = createOpenAiModel({
      baseUrl: server.url,
      model: "m",
      sleep: async () => {},
    });
    const events = Array.fromAsync(
      model.generate(requestOf([message(Role.USER, [text("x")])]), signal),
    );
    await expect(events).rejects.toThrow(
      /arguments of the model's call "t" are not valid JSON \(5 tries\)/,
    );
  });
});
