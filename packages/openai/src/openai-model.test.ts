import type { Model, ModelEvent } from "@devtool/coding-agent/model";
import {
  type FakeModel,
  message,
  type Parts,
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

const signal = AbortSignal.timeout(300_000);
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

    it("yields thoughts, text, the usage and then the calls", async () => {
      const events = await ask("think\ntext a\nread x\nrun ls");
      expect(events.map(({ case: kind }) => kind)).toEqual([
        "thought",
        "text",
        "usage",
        "toolCall",
        "toolCall",
      ]);
      expect(events.at(-1)).toMatchObject({
        value: { name: "run_shell_command", args: { command: "ls" } },
      });
      expect(events[2]).toMatchObject({ value: { outputTokens: 4n } });
    });

    it("tells the model what became of its calls", async () => {
      const call = (toolCallId: string, rest: object): Parts[number] => ({
        content: {
          case: "toolCall",
          value: {
            toolCallId,
            toolName: "read_file",
            inputParameters: { file_path: "x" },
            ...rest,
          },
        },
      });
      const output = {
        case: "output",
        value: { result: { case: "text", value: "line" } },
      } as const;
      const history = [
        message(Role.USER, [text("read x\nnext\ntext then")]),
        message(Role.AGENT, [
          text("I look."),
          call("1", { status: ToolCallStatus.SUCCEEDED, result: output }),
          call("2", { status: ToolCallStatus.CANCELLED }),
        ]),
      ];
      const events = await Array.fromAsync(
        model().generate(requestOf(history), signal),
      );
      expect(events).toContainEqual({ case: "text", value: "then" });
      const body = JSON.stringify(fake.requests().at(-1)?.body);
      expect(body).toContain('"line"');
      expect(body).toContain("The call was canceled before it ended.");
      expect(body).toContain("I look.");
    });

    it("asks again with growing waits, and as long as the API asks", async () => {
      const events = await ask("fail 429 2 after 7\ntext done");
      expect(waits).toEqual([7000, 7000]);
      expect(events.filter(({ case: kind }) => kind === "notice")).toHaveLength(
        2,
      );
      await ask("fail 503 3\ntext done");
      expect(waits.slice(2)).toEqual([500, 1000, 2000]);
    });

    it("sends the key, and hides it in errors", async () => {
      await ask("text a");
      expect(fake.requests().at(-1)?.headers.authorization).toBe(
        `Bearer ${API_KEY}`,
      );
      await using server = await serveResponse((response) => {
        response.writeHead(401, { "content-type": "application/json" });
        response.end(
          JSON.stringify({
            error: { message: `Incorrect API key provided: ${API_KEY}.` },
          }),
        );
      });
      const failed = ask("text a", { baseUrl: server.url });
      await expect(failed).rejects.toThrow(
        "the model answered with status 401 (Incorrect API key provided: ***.): the operator must check the credentials",
      );
    });

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

    it("does not follow a redirect, which would get the key", async () => {
      await using server = await serveResponse((response) =>
        response.writeHead(307, { location: fake.url }).end(),
      );
      await expect(ask("text a", { baseUrl: server.url })).rejects.toThrow(
        "status 307",
      );
      expect(fake.requests()).toEqual([]);
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

    it("asks again after an error in place of a piece", async () => {
      let attempts = 0;
      await using server = await serveResponse((response) => {
        attempts++;
        response.writeHead(200, { "content-type": "text/event-stream" });
        const error = {
          code: "server_error",
          message: "overloaded",
          param: null,
        };
        response.end(
          `event: error\ndata: ${JSON.stringify({ type: "error", ...error, error })}\n\n`,
        );
      });
      await expect(ask("text a", { baseUrl: server.url })).rejects.toThrow(
        /status 500 \(overloaded\) \(5 tries\)/,
      );
      expect(attempts).toBe(5);
    });

    it("ends when the signal aborts in the middle", async () => {
      const controller = new AbortController();
      const events = model().generate(
        requestOf([message(Role.USER, [text("text a\nhang")])]),
        controller.signal,
      );
      const read = async (): Promise<void> => {
        for await (const _event of events) {
          controller.abort(new Error("enough"));
        }
      };
      await expect(read()).rejects.toThrow("enough");
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

    it("encodes images, documents and texts of the user", async () => {
      const file = (mediaType: string, name: string): Parts[number] => ({
        content: {
          case: "file",
          value: {
            name,
            mediaType,
            source: { case: "bytes", value: Buffer.from("abc") },
          },
        },
      });
      const files = [
        file("image/png", "a.png"),
        file("application/pdf", "b.pdf"),
        file("text/plain", "c"),
        file("x/y", "d"),
      ];
      await Array.fromAsync(
        model().generate(
          requestOf([message(Role.USER, [text("text a"), ...files])]),
          signal,
        ),
      );
      const body = JSON.stringify(fake.requests().at(-1)?.body);
      for (const piece of [
        "data:image/png;base64,YWJj",
        "data:application/pdf;base64,YWJj",
        '"abc"',
        "type x/y",
      ]) {
        expect(body).toContain(piece);
      }
    });
  },
);

describe("the OpenAI model", () => {
  it("keeps encrypted reasoning with the call and gives it back unchanged", async () => {
    await using fake = await startFakeOpenAi();
    const model = createOpenAiModel({
      apiKey: "k",
      baseUrl: `${fake.url}/v1`,
      api: "responses",
      model: "m",
    });
    const prompt = message(Role.USER, [text("think\nread x\ntext then")]);
    const events = await Array.fromAsync(
      model.generate(requestOf([prompt]), signal),
    );
    const call = events.find((event) => event.case === "toolCall")?.value;
    const value = {
      toolCallId: "1",
      toolName: "read_file",
      status: ToolCallStatus.CANCELLED,
    };
    const toolCallDetail = {
      modelSignature: call?.signature ?? new Uint8Array(),
    };
    const step = message(Role.AGENT, [
      { content: { case: "toolCall", value }, toolCallDetail },
    ]);
    await Array.fromAsync(model.generate(requestOf([prompt, step]), signal));
    expect(fake.requests()[1]?.signatures).toHaveLength(1);
    // Another API's signature is left out.
    toolCallDetail.modelSignature = new TextEncoder().encode("from-gemini");
    const foreign = message(Role.AGENT, [
      { content: { case: "toolCall", value }, toolCallDetail },
    ]);
    await Array.fromAsync(model.generate(requestOf([prompt, foreign]), signal));
    expect(fake.requests()[2]?.signatures).toEqual([]);
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
