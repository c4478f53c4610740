import type { ServerResponse } from "node:http";
import { createAnthropicModel } from "@devtool/anthropic";
import { startFakeAnthropic } from "@devtool/anthropic/testing";
import type {
  Model,
  ModelEvent,
  RemoteOptions,
} from "@devtool/coding-agent/model";
import {
  type FakeModel,
  message,
  type Parts,
  requestOf,
  serveResponse,
  text,
} from "@devtool/coding-agent/testing/fake-model";
import { createGeminiModel } from "@devtool/gemini";
import { startFakeGemini } from "@devtool/gemini/testing";
import { createOpenAiModel } from "@devtool/openai";
import { startFakeOpenAi } from "@devtool/openai/testing";
import { type Message, Role, ToolCallStatus } from "@devtool/schema";
import {
  afterAll,
  beforeAll,
  beforeEach,
  describe,
  expect,
  it,
  vi,
} from "vitest";

const signal = AbortSignal.timeout(300_000);
const KEY = "sk-a-secret-key-of-some-length";

/** The options that all models have. */
interface Options extends RemoteOptions {
  readonly baseUrl: string;
  readonly apiKey: string;
}

/** The API of a model, and how it says what all of them say. */
interface Api {
  readonly name: string;
  readonly start: () => Promise<FakeModel>;
  readonly create: (options: Options) => Model;
  /** The header of a request that has the key. */
  readonly key: readonly [name: string, value: string];
  /** Whether calls come with a signature that goes back with them. */
  readonly signs: boolean;
  /** An error that may pass, as an event of a stream, and its status. */
  readonly overloaded: readonly [status: number, event: object];
  /** What a request has of four files, as JSON. */
  readonly files: readonly string[];
}

const SERVER_ERROR = {
  code: "server_error",
  message: "overloaded",
  param: null,
};
const OPENAI = {
  start: startFakeOpenAi,
  key: ["authorization", `Bearer ${KEY}`],
  overloaded: [500, { type: "error", ...SERVER_ERROR, error: SERVER_ERROR }],
  files: [
    "data:image/png;base64,YWJj",
    "data:application/pdf;base64,YWJj",
    '"abc"',
    "type x/y",
  ],
} as const;

const APIS: readonly Api[] = [
  {
    ...OPENAI,
    name: "Responses",
    create: ({ baseUrl, ...options }) =>
      createOpenAiModel({
        ...options,
        baseUrl: `${baseUrl}/v1`,
        api: "responses",
        model: "m",
      }),
    signs: true,
  },
  {
    ...OPENAI,
    name: "Chat Completions",
    create: ({ baseUrl, ...options }) =>
      createOpenAiModel({
        ...options,
        baseUrl: `${baseUrl}/v1`,
        api: "chat-completions",
        model: "m",
      }),
    signs: false,
  },
  {
    name: "Anthropic",
    start: startFakeAnthropic,
    create: createAnthropicModel,
    // The SDK sends keys as bearer tokens.
    key: ["authorization", `Bearer ${KEY}`],
    signs: true,
    overloaded: [
      529,
      {
        type: "error",
        error: { type: "overloaded_error", message: "overloaded" },
      },
    ],
    files: [
      '{"type":"text","text":"File \\"a.png\\":"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"YWJj"}}',
      '{"type":"text","text":"File \\"b.pdf\\":"},{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"YWJj"}}',
      '"abc"',
      "type x/y",
    ],
  },
  {
    name: "Gemini",
    start: startFakeGemini,
    create: createGeminiModel,
    key: ["x-goog-api-key", KEY],
    signs: true,
    overloaded: [503, { error: { code: 503, message: "overloaded" } }],
    files: ["image/png", "application/pdf", "text/plain", "x/y"].map(
      (type) => `"inlineData":{"mimeType":"${type}","data":"YWJj"}`,
    ),
  },
];

describe.each(APIS)("a model over $name", (api) => {
  let fake: FakeModel;
  const waits: number[] = [];
  beforeAll(async () => {
    fake = await api.start();
  });
  beforeEach(() => {
    waits.length = 0;
    fake.reset();
  });
  afterAll(() => fake[Symbol.asyncDispose]());

  it("yields thoughts, text, the usage and then the calls", async () => {
    const events = await ask("think\ntext a\nread x\nrun ls");
    expect(events).toMatchObject([
      {
        case: "thought",
        value: { subject: "Subject 1", description: "Description 1." },
      },
      { case: "text", value: "a" },
      { case: "usage", value: { outputTokens: 4n } },
      { case: "toolCall", value: { name: "read_file" } },
      {
        case: "toolCall",
        value: { name: "run_shell_command", args: { command: "ls" } },
      },
    ]);
  });

  it("keeps a signature with the first call, and gives it back unchanged", async () => {
    const script = "think\nread x\nrun ls\nnext\ntext then";
    const calls = (await ask(script)).flatMap((event) =>
      event.case === "toolCall" ? [event.value] : [],
    );
    expect(calls.map(({ signature }) => signature !== undefined)).toEqual([
      api.signs,
      false,
    ]);
    const parts = calls.map(({ name, args, signature }, index) =>
      callPart(`${index}`, name, {
        content: { inputParameters: args, status: ToolCallStatus.CANCELLED },
        toolCallDetail: { modelSignature: signature ?? new Uint8Array() },
      }),
    );
    const history = [user(text(script)), message(Role.AGENT, parts)];
    expect(await answerTo(history)).toContainEqual({
      case: "text",
      value: "then",
    });
    const given = fake.requests().at(-1)?.signatures ?? [];
    expect(given).toHaveLength(api.signs ? 1 : 0);
    const kept = new TextDecoder().decode(calls[0]?.signature);
    for (const signature of given) expect(kept).toContain(signature);
  });

  it("is told what became of its calls", async () => {
    const output = {
      case: "output",
      value: { result: { case: "text", value: "line" } },
    } as const;
    const error = {
      case: "error",
      value: { message: "no such file" },
    } as const;
    const calls = [
      { status: ToolCallStatus.SUCCEEDED, result: output },
      { status: ToolCallStatus.FAILED, result: error },
      { status: ToolCallStatus.CANCELLED },
    ].map((content, index) => callPart(`${index}`, "read_file", { content }));
    const history = [
      user(text("read x\nnext\ntext then")),
      message(Role.AGENT, [text("I look."), ...calls]),
    ];
    expect(await answerTo(history)).toContainEqual({
      case: "text",
      value: "then",
    });
    for (const words of [
      "I look.",
      '"line"',
      "no such file",
      "The call was canceled before it ended.",
    ]) {
      expect(JSON.stringify(fake.requests().at(-1)?.body)).toContain(words);
    }
  });

  it("asks again with growing waits, and as long as the API asks, and says so", async () => {
    const events = await ask("fail 429 2 after 7\ntext done");
    expect(events.filter(({ case: kind }) => kind === "notice")).toHaveLength(
      2,
    );
    await ask("fail 503 3\ntext done");
    expect(waits).toEqual([7000, 7000, 500, 1000, 2000]);
  });

  it("asks again after an error in place of a piece", async () => {
    const [status, event] = api.overloaded;
    let attempts = 0;
    await using server = await serveResponse((response) => {
      attempts++;
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.end(`event: error\ndata: ${JSON.stringify(event)}\n\n`);
    });
    await expect(ask("text a", { baseUrl: server.url })).rejects.toThrow(
      `status ${status} (overloaded) (5 tries)`,
    );
    expect(attempts).toBe(5);
  });

  it("sends its key alone, whatever the environment says, and hides it in errors", async () => {
    for (const name of ["ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY"]) {
      vi.stubEnv(name, "of-the-environment");
    }
    for (const name of ["ANTHROPIC_BASE_URL", "OPENAI_BASE_URL"]) {
      vi.stubEnv(name, "http://127.0.0.1:1");
    }
    await ask("text a");
    vi.unstubAllEnvs();
    const [name, value] = api.key;
    expect(fake.requests().at(-1)?.headers[name]).toBe(value);
    const refuse = refusing(401, { message: `bad ${KEY}` });
    await using server = await serveResponse(refuse);
    await expect(ask("text a", { baseUrl: server.url })).rejects.toThrow(
      /status 401 \(bad \*\*\*\).*check the credentials/,
    );
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

  it("ends when the signal aborts in the middle, with its reason", async () => {
    const controller = new AbortController();
    const reason = new Error("enough");
    const asked = requestOf([user(text("text a\nhang"))]);
    const read = async (): Promise<void> => {
      const events = model().generate(asked, controller.signal);
      for await (const _event of events) controller.abort(reason);
    };
    await expect(read()).rejects.toBe(reason);
  });

  it("sends images, documents and texts of the user in their order", async () => {
    const types = { "a.png": "image/png", "b.pdf": "application/pdf" };
    const others = { c: "text/plain", d: "x/y" };
    const files = Object.entries({ ...types, ...others }).map(
      ([name, mediaType]): Parts[number] => {
        const source = { case: "bytes", value: Buffer.from("abc") } as const;
        return {
          content: { case: "file", value: { name, mediaType, source } },
        };
      },
    );
    await answerTo([user(text("text a"), ...files)]);
    const body = JSON.stringify(fake.requests().at(-1)?.body);
    const places = api.files.map((piece) => body.indexOf(piece));
    expect(places).not.toContain(-1);
    expect(places).toEqual(places.toSorted((a, b) => a - b));
  });

  it("sends images of results behind them, where servers take that", async () => {
    const source = { case: "bytes", value: Buffer.from("abc") } as const;
    const files = [{ mediaType: "image/png", source }];
    const result = {
      case: "output",
      value: { result: { case: "text", value: "[image]" } },
    };
    const call = callPart("c1", "look", {
      content: { status: ToolCallStatus.SUCCEEDED, result },
      toolCallDetail: { files },
    });
    await answerTo([
      user(text("look")),
      message(Role.AGENT, [call]),
      user(text("text a")),
    ]);
    const body = JSON.stringify(fake.requests().at(-1)?.body);
    const places = ["[image]", "YWJj"].map((piece) => body.indexOf(piece));
    // Many servers of Chat Completions have models that refuse images.
    if (api.name === "Chat Completions") {
      expect(places[1]).toBe(-1);
    } else {
      expect(places).not.toContain(-1);
      expect(places).toEqual(places.toSorted((a, b) => a - b));
    }
  });

  function model(options: Partial<Options> = {}): Model {
    return api.create({
      apiKey: KEY,
      baseUrl: fake.url,
      random: () => 0.5,
      sleep: async (ms) => void waits.push(ms),
      ...options,
    });
  }

  function ask(
    script: string,
    options?: Partial<Options>,
  ): Promise<ModelEvent[]> {
    return answerTo([user(text(script))], options);
  }

  function answerTo(
    history: readonly Message[],
    options?: Partial<Options>,
  ): Promise<ModelEvent[]> {
    return Array.fromAsync(model(options).generate(requestOf(history), signal));
  }
});

function user(...parts: Parts): Message {
  return message(Role.USER, parts);
}

/** A call in the history, with more of its content and of its part. */
function callPart(
  toolCallId: string,
  toolName: string,
  {
    content,
    ...more
  }: { readonly content: object; readonly [name: string]: unknown },
): Parts[number] {
  const value = { toolCallId, toolName, ...content };
  return { content: { case: "toolCall", value }, ...more };
}

function refusing(status: number, error: object) {
  return (response: ServerResponse): void => {
    response.writeHead(status, { "content-type": "application/json" });
    response.end(JSON.stringify({ type: "error", error }));
  };
}
