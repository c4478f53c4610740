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
import { createAnthropicModel } from "./anthropic-model.ts";
import type { AnthropicOptions } from "./anthropic-options.ts";
import { startFakeAnthropic } from "./testing/fake-anthropic.ts";

const signal = AbortSignal.timeout(300_000);
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

  it("yields thoughts, text, the usage and then the calls", async () => {
    const events = await ask("think\ntext a\nread x\nrun ls");
    expect(events.map(({ case: kind }) => kind)).toEqual([
      "thought",
      "text",
      "usage",
      "toolCall",
      "toolCall",
    ]);
    expect(events[0]).toMatchObject({
      value: { subject: "Subject 1", description: "Description 1." },
    });
    expect(events.at(-1)).toMatchObject({
      value: { name: "run_shell_command", args: { command: "ls" } },
    });
    expect(events[2]).toMatchObject({ value: { thoughtTokens: 1n } });
  });

  it("keeps the thoughts with the first call and gives them back unchanged", async () => {
    const prompt = message(Role.USER, [
      text("think\nread x\nrun ls\ntext then"),
    ]);
    const calls = (await ask("think\nread x\nrun ls\ntext then")).flatMap(
      (event) => (event.case === "toolCall" ? [event.value] : []),
    );
    expect(calls.map(({ signature }) => signature !== undefined)).toEqual([
      true,
      false,
    ]);
    const parts = calls.map(
      ({ name, args, signature }, index): Parts[number] => ({
        content: {
          case: "toolCall",
          value: {
            toolCallId: `${index}`,
            toolName: name,
            inputParameters: args,
            status: ToolCallStatus.CANCELLED,
          },
        },
        toolCallDetail: { modelSignature: signature ?? new Uint8Array() },
      }),
    );
    const history = [prompt, message(Role.AGENT, parts)];
    expect(
      await Array.fromAsync(model().generate(requestOf(history), signal)),
    ).toContainEqual({ case: "text", value: "then" });
    expect(fake.requests().at(-1)?.signatures).toHaveLength(1);
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

  it("sends the key alone, and hides it in errors", async () => {
    vi.stubEnv("ANTHROPIC_AUTH_TOKEN", "token-of-the-environment");
    vi.stubEnv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1");
    await ask("text a");
    vi.unstubAllEnvs();
    // The SDK sends keys as bearer tokens.
    expect(fake.requests().at(-1)?.headers).toMatchObject({
      authorization: `Bearer ${API_KEY}`,
    });
    await using server = await serveResponse((response) => {
      response.writeHead(401, { "content-type": "application/json" });
      response.end(
        JSON.stringify({
          type: "error",
          error: { type: "authentication_error", message: `bad ${API_KEY}` },
        }),
      );
    });
    await expect(ask("text a", { baseUrl: server.url })).rejects.toThrow(
      "the model answered with status 401 (bad ***): the operator must check the credentials",
    );
  });

  it("asks again after an error in place of an event", async () => {
    let attempts = 0;
    await using server = await serveResponse((response) => {
      attempts++;
      response.writeHead(200, { "content-type": "text/event-stream" });
      const error = { type: "overloaded_error", message: "Overloaded" };
      response.end(
        `event: error\ndata: ${JSON.stringify({ type: "error", error })}\n\n`,
      );
    });
    await expect(ask("text a", { baseUrl: server.url })).rejects.toThrow(
      /status 529 \(Overloaded\) \(5 tries\)/,
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
      for await (const _event of events) controller.abort(new Error("enough"));
    };
    await expect(read()).rejects.toThrow("enough");
  });

  it("asks for thoughts within a budget, or for none", async () => {
    await ask("think\ntext a", { thinking: 2048 });
    expect(fake.requests().at(-1)?.body).toMatchObject({
      thinking: { type: "enabled", budget_tokens: 2048 },
    });
    expect(
      (await ask("think\ntext a", { thinking: 0 })).map(
        ({ case: kind }) => kind,
      ),
    ).toEqual(["text", "usage"]);
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
      file("application/pdf", "b"),
      file("text/plain", "c"),
      file("x/y", "d"),
    ];
    await Array.fromAsync(
      model().generate(
        requestOf([message(Role.USER, [text("text a"), ...files])]),
        signal,
      ),
    );
    expect(fake.requests().at(-1)?.body).toMatchObject({
      messages: [
        {
          content: [
            { text: "text a" },
            { text: 'File "a.png":' },
            {
              type: "image",
              source: { type: "base64", media_type: "image/png", data: "YWJj" },
            },
            { text: 'File "b":' },
            { type: "document", source: { media_type: "application/pdf" } },
            { text: 'File "c":' },
            { text: "abc" },
            { text: 'File "d":' },
            { text: "(a file of the type x/y, which cannot be shown)" },
          ],
        },
      ],
    });
  });
});
