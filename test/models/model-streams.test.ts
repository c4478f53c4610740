import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { create } from "@bufbuild/protobuf";
import { createAnthropicModel } from "@devtool/anthropic";
import type { Model, ModelEvent } from "@devtool/coding-agent/model";
import { createGeminiModel } from "@devtool/gemini";
import { createOpenAiModel } from "@devtool/openai";
import {
  type Message,
  MessageSchema,
  Role,
  ToolCallSchema,
} from "@devtool/schema";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { roundsOf, seedOf } from "../depth.ts";

/** What a model's server sends, and what it was sent. */
let answer: Uint8Array | string = "";
let mediaType = "text/event-stream";
let received = "";
let requests = 0;
let isLeftOpen = false;
const server = createServer((request, response) => {
  received = "";
  requests++;
  request.setEncoding("utf8");
  request.on("data", (chunk: string) => {
    received += chunk;
  });
  request.on("end", () => {
    response.writeHead(200, { "content-type": mediaType });
    response.write(answer);
    if (!isLeftOpen) response.end();
  });
});
let url = "";
beforeAll(async () => {
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address() as AddressInfo;
  url = `http://127.0.0.1:${port}`;
});
afterAll(() => void server.close());

/** An API: its model, and the pieces of its answers. */
interface Api {
  readonly name: string;
  readonly model: () => Model;
  /** The pieces of an answer with these texts, and these calls at its end. */
  readonly pieces: (
    texts: readonly string[],
    calls?: readonly Call[],
  ) => unknown[];
  /** How a piece is written as an event. */
  readonly event?: (piece: unknown) => string;
}

interface Call {
  readonly id: string;
  readonly name: string;
  /** JSON, as it is on the wire. */
  readonly args: string;
}

const OPTIONS = {
  apiKey: "key",
  random: () => 0,
  sleep: () => Promise.resolve(),
  retry: { maxAttempts: 2 },
  timeouts: { idleMs: 1000 },
};

/** Stands for arguments in a piece: JSON that `JSON.stringify` would change. */
const raw = (json: string): string => `\u0001${json}\u0001`;
const write = (piece: unknown): string =>
  JSON.stringify(piece).replaceAll(
    /"\\u0001(.*?)\\u0001"/g,
    (_all, json: string) => JSON.parse(`"${json}"`),
  );

const GEMINI: Api = {
  name: "Gemini",
  model: () => createGeminiModel({ ...OPTIONS, baseUrl: url }),
  pieces: (texts, calls = []) => [
    ...texts.map((text) => ({
      candidates: [{ content: { role: "model", parts: [{ text }] } }],
    })),
    ...calls.map(({ id, name, args }) => ({
      candidates: [
        {
          content: {
            role: "model",
            parts: [{ functionCall: { id, name, args: raw(args) } }],
          },
        },
      ],
    })),
    { candidates: [{ finishReason: "STOP" }] },
  ],
};

const CHAT: Api = {
  name: "Chat Completions",
  model: () =>
    createOpenAiModel({
      ...OPTIONS,
      baseUrl: url,
      api: "chat-completions",
      model: "m",
    }),
  pieces: (texts, calls = []) => [
    ...texts.map((content) => ({ choices: [{ delta: { content } }] })),
    ...calls.map(({ id, name, args }, index) => ({
      choices: [
        {
          delta: {
            tool_calls: [
              {
                index,
                id,
                type: "function",
                function: { name, arguments: args },
              },
            ],
          },
        },
      ],
    })),
    { choices: [{ delta: {}, finish_reason: "stop" }] },
  ],
};

const RESPONSES: Api = {
  name: "Responses",
  model: () =>
    createOpenAiModel({
      ...OPTIONS,
      baseUrl: url,
      api: "responses",
      model: "m",
    }),
  pieces: (texts, calls = []) => [
    ...texts.map((delta) => ({ type: "response.output_text.delta", delta })),
    ...calls.map(({ id, name, args }) => ({
      type: "response.output_item.done",
      item: { type: "function_call", call_id: id, name, arguments: args },
    })),
    { type: "response.completed", response: { status: "completed" } },
  ],
};

const ANTHROPIC: Api = {
  name: "Anthropic",
  model: () => createAnthropicModel({ ...OPTIONS, baseUrl: url }),
  pieces: (texts, calls = []) => [
    { type: "message_start", message: { usage: {} } },
    {
      type: "content_block_start",
      index: 0,
      content_block: { type: "text", text: "" },
    },
    ...texts.map((text) => ({
      type: "content_block_delta",
      index: 0,
      delta: { type: "text_delta", text },
    })),
    { type: "content_block_stop", index: 0 },
    ...calls.flatMap(({ id, name, args }, at) => [
      {
        type: "content_block_start",
        index: at + 1,
        content_block: { type: "tool_use", id, name },
      },
      {
        type: "content_block_delta",
        index: at + 1,
        delta: { type: "input_json_delta", partial_json: args },
      },
      { type: "content_block_stop", index: at + 1 },
    ]),
    { type: "message_delta", delta: { stop_reason: "end_turn" } },
    { type: "message_stop" },
  ],
};

const APIS = [GEMINI, CHAT, RESPONSES, ANTHROPIC];

/** Answers with "AB" and a call, as of a server that does not stream. */
const WHOLE: readonly (readonly [Api, object])[] = [
  [
    GEMINI,
    {
      candidates: [
        null,
        {
          content: {
            parts: [
              { text: "AB" },
              { functionCall: { name: "t", args: { n: 1 } } },
            ],
          },
          finishReason: "STOP",
        },
      ],
      usageMetadata: { promptTokenCount: 7 },
    },
  ],
  [
    CHAT,
    {
      object: "chat.completion",
      choices: [
        null,
        {
          index: 0,
          message: {
            role: "assistant",
            content: "AB",
            tool_calls: [
              null,
              { id: "1", function: { name: "t", arguments: '{"n":1}' } },
            ],
          },
          finish_reason: "tool_calls",
        },
      ],
      usage: { prompt_tokens: 7 },
    },
  ],
  [
    RESPONSES,
    {
      object: "response",
      status: "completed",
      error: null,
      output: [
        null,
        { type: "message", content: [{ type: "output_text", text: "AB" }] },
        {
          type: "function_call",
          call_id: "1",
          name: "t",
          arguments: '{"n":1}',
        },
      ],
      usage: { input_tokens: 7 },
    },
  ],
  [
    ANTHROPIC,
    {
      type: "message",
      content: [
        null,
        { type: "text", text: "AB" },
        { type: "tool_use", id: "1", name: "t", input: { n: 1 } },
      ],
      stop_reason: "tool_use",
      usage: { input_tokens: 7, output_tokens: 1 },
    },
  ],
];

function user(text: string): Message {
  return create(MessageSchema, {
    role: Role.USER,
    parts: [{ content: { case: "text", value: text } }],
  });
}

/** Generates a step, and returns its events, or its failure in words. */
async function generate(
  api: Api,
  history: readonly Message[] = [user("hi")],
): Promise<{ events: ModelEvent[]; text: string; failure: string }> {
  const events: ModelEvent[] = [];
  let failure = "";
  const request = {
    history,
    tools: [],
    workspacePath: "",
    instructions: async () => "",
    model: "m",
  };
  try {
    for await (const event of api
      .model()
      .generate(request, AbortSignal.timeout(60_000))) {
      events.push(event);
    }
  } catch (reason) {
    failure = String(reason);
  }
  const text = events
    .map((event) => (event.case === "text" ? event.value : ""))
    .join("");
  return { events, text, failure };
}

const calls = (events: readonly ModelEvent[]) =>
  events.flatMap((event) => (event.case === "toolCall" ? [event.value] : []));
const notices = (events: readonly ModelEvent[]) =>
  events.flatMap((event) =>
    event.case === "notice" ? [event.value.text] : [],
  );
const event = (piece: unknown): string => `data: ${write(piece)}\n\n`;
const events = (pieces: readonly unknown[]): string =>
  pieces.map(event).join("");

describe.each(APIS)("a stream of $name", (api) => {
  const texts = ["one ", "two ", "three"];

  /** Ways to write the same events. */
  const FORMS: Readonly<Record<string, (pieces: string[]) => string>> = {
    "B2: an event name before each piece": (all) =>
      all.map((json) => `event: message\ndata: ${json}\n\n`).join(""),
    "B2: an id before each piece": (all) =>
      all.map((json, at) => `id: ${at}\ndata: ${json}\n\n`).join(""),
    "B2: name and retry behind the data": (all) =>
      all.map((json) => `data:${json}\nevent: x\nretry: 5\n\n`).join(""),
    "B15: [DONE]": (all) =>
      `${all.map((json) => `data: ${json}\n\n`).join("")}data: [DONE]\n\n`,
    "B15: empty data": (all) =>
      `data:\n\n${all.map((json) => `data: ${json}\n\ndata: \n\n`).join("")}`,
    "B15: several data lines": (all) =>
      all
        .map((json) => `data: ${json.replaceAll('":', '":\ndata: ')}\n\n`)
        .join(""),
    "B15: comments": (all) =>
      `: hi\n\n${all.map((json) => `: ping\ndata: ${json}\n: x\n\n`).join("")}`,
    "B15: CR as the end of lines": (all) =>
      all.map((json) => `data: ${json}\r\r`).join(""),
    "B15: CR LF, and a byte order mark": (all) =>
      `\ufeff${all.map((json) => `data: ${json}\r\n\r\n`).join("")}`,
    "B15: no empty line at the end": (all) =>
      all
        .map((json) => `data: ${json}\n\n`)
        .join("")
        .trimEnd()
        .concat("\n"),
  };

  it.each(Object.entries(FORMS))(
    "is read as its standard says: %s",
    async (_form, form) => {
      answer = form(api.pieces(texts).map(write));
      const { text, failure } = await generate(api);
      expect([text, failure]).toEqual(["one two three", ""]);
    },
  );

  it("B15: has a media type in any case", async () => {
    mediaType = "Text/Event-Stream; Charset=UTF-8";
    answer = events(api.pieces(texts));
    const { text } = await generate(api);
    mediaType = "text/event-stream";
    expect(text).toBe("one two three");
  });

  it.each(["data: {\n\n", "dat: {}\n\n", '{"x": \n'])(
    "B2: fails with a hole: %j",
    async (hole) => {
      const [first, ...others] = api.pieces(texts);
      answer = event(first) + hole + events(others);
      const { failure } = await generate(api);
      expect(failure).toContain("the model's answer is not JSON");
    },
  );

  it("B16: keeps two different calls with one id, and equal ones once", async () => {
    const one = { id: "call_0", name: "read_file", args: '{"file_path":"a"}' };
    const other = { ...one, name: "write_file", args: '{"content":"b"}' };
    answer = events(api.pieces([], [one, other, one]));
    const { events: all } = await generate(api);
    expect(calls(all)).toMatchObject([
      { name: "read_file" },
      { name: "write_file" },
    ]);
  });

  it.each(["null", " null ", "{}"])(
    "B18: reads the arguments %j as none",
    async (args) => {
      answer = events(api.pieces([], [{ id: "1", name: "t", args }]));
      const { events: all } = await generate(api);
      expect(calls(all)).toMatchObject([{ name: "t", args: {} }]);
    },
  );

  it.each(["9007199254740993", "1e400", "-1e400", "0.12345678901234567890123"])(
    "B6: never gives a tool another number than %s",
    async (number) => {
      const args = `{"deep":[{"n":${number}}],"ok":1}`;
      answer = events(api.pieces([], [{ id: "1", name: "t", args }]));
      const { events: all } = await generate(api);
      const [call] = calls(all);
      expect(call?.args.ok).toBe(1);
      expect(JSON.stringify(call?.args.deep)).toBe('[{"n":null}]');
      expect(call?.args.deep).toEqual([{ n: Number.POSITIVE_INFINITY }]);
    },
  );

  it.each([
    "9007199254740991",
    "0.1",
    "1e2",
    "1.50",
    "-0",
    "123456789012345.5",
  ])("B6: keeps %s", async (number) => {
    answer = events(
      api.pieces([], [{ id: "1", name: "t", args: `{"n":${number}}` }]),
    );
    const { events: all } = await generate(api);
    expect(calls(all)).toMatchObject([{ args: { n: Number(number) } }]);
  });

  it("B3: joins a character that two pieces share, and leaves no half of one", async () => {
    answer = events(api.pieces(["a\ud83d", "\ude00b\ud83d", "c\ude00"]));
    expect((await generate(api)).text).toBe("a\u{1f600}b\ufffdc\ufffd");
  });

  it("B3: is asked without half characters", async () => {
    answer = events(api.pieces(["ok"]));
    await generate(api, [user("cut \ud83d and \\ud83d and \u{1f600}")]);
    expect(received).toContain("cut \\ufffd and \\\\ud83d and \u{1f600}");
  });

  it("ends a turn with an empty answer after calls, and says so", async () => {
    answer = events(api.pieces([]));
    const step = create(MessageSchema, {
      role: Role.AGENT,
      parts: [
        {
          content: {
            case: "toolCall",
            value: create(ToolCallSchema, { toolCallId: "1", toolName: "t" }),
          },
        },
      ],
    });
    const after = await generate(api, [user("hi"), step]);
    expect(after.failure).toBe("");
    expect(notices(after.events).at(-1)).toContain("empty answer");
    expect((await generate(api)).failure).toContain("empty answer");
  });
});

it.each<[Api, unknown, string]>([
  [
    GEMINI,
    {
      candidates: [
        { content: { parts: [{ inlineData: { mimeType: "image/png" } }] } },
      ],
    },
    "inlineData",
  ],
  [
    GEMINI,
    { candidates: [{ content: { parts: [{ executableCode: {} }] } }] },
    "executableCode",
  ],
  [CHAT, { choices: [{ delta: { images: [{}] } }] }, "images"],
  [
    RESPONSES,
    {
      type: "response.output_item.done",
      item: { type: "image_generation_call" },
    },
    "image_generation_call",
  ],
  [
    ANTHROPIC,
    {
      type: "content_block_start",
      index: 7,
      content_block: { type: "server_tool_use" },
    },
    "server_tool_use",
  ],
])(
  "says once what content of a model it leaves out",
  async (api, piece, kind) => {
    answer = events([piece, piece, ...api.pieces(["text"])]);
    const { events: all, text } = await generate(api);
    expect([text, notices(all)]).toEqual([
      "text",
      [`the model's answer holds "${kind}", which is left out`],
    ]);
  },
);

const READ = { id: "1", name: "read_file", args: '{"file_path":"a"}' };
const OTHER = { id: "2", name: "read_file", args: '{"file_path":"b"}' };
const chat = (delta: object, finish?: string) => ({
  choices: [{ delta, finish_reason: finish ?? null }],
});
const chatCalls = (...tool_calls: unknown[]) => chat({ tool_calls });
const chatCall = ({ name, args }: Call, more: object = {}) => ({
  function: { name, arguments: args },
  ...more,
});
const done = (item: unknown) => ({ type: "response.output_item.done", item });
const message = (...content: unknown[]) => ({ type: "message", content });
const said = (text: string, more: object = {}) =>
  message({ type: "output_text", text, ...more });
const responded = (response: object) => ({
  type: "response.completed",
  response,
});
const functionCall = ({ id, name, args }: Call) => ({
  type: "function_call",
  call_id: id,
  name,
  arguments: args,
});
const block = (index: number, content_block: unknown) => ({
  type: "content_block_start",
  index,
  content_block,
});
const blockDelta = (index: number, delta: unknown) => ({
  type: "content_block_delta",
  index,
  delta,
});
const stopFor = (stop_reason: string | null | undefined) => ({
  type: "message_delta",
  delta: { stop_reason },
  usage: { output_tokens: 5 },
});
const candidate = (parts: unknown, more: object = {}) => ({
  candidates: [{ content: { role: "model", parts }, ...more }],
});
const STOP = { candidates: [{ finishReason: "STOP" }] };
const MESSAGE_STOP = { type: "message_stop" };

describe("a stream that is odd in one place", () => {
  it.each<[string, Api, unknown[], string, Call[]?]>([
    [
      "K2: content in parts, as Mistral's",
      CHAT,
      [
        chat({
          content: [
            { type: "thinking", thinking: [{ type: "text", text: "hm" }] },
          ],
        }),
        chat({ content: [null, { type: "text", text: "AB" }] }),
        chat({}, "stop"),
      ],
      "AB",
    ],
    [
      "K2: empty reasons before and after the end",
      CHAT,
      [chat({ content: "AB" }, ""), chat({}, "stop"), chat({}, "")],
      "AB",
    ],
    [
      "K2: null among the calls",
      CHAT,
      [chatCalls(null, chatCall(READ)), chat({}, "tool_calls")],
      "",
      [READ],
    ],
    [
      "K2: no annotations",
      RESPONSES,
      [
        { type: "response.output_text.delta", delta: "AB" },
        done(said("AB", { annotations: [null, { type: "url_citation" }] })),
        done(message(null, { type: "output_text" })),
        done({ type: "message", content: null }),
        done(null),
        responded({}),
      ],
      "AB",
    ],
    [
      "K2: null in place of texts",
      RESPONSES,
      [
        { type: "response.output_text.delta", delta: null },
        { type: "response.reasoning_text.done", text: null },
        null,
        { type: "response.output_text.delta", delta: "AB" },
        { type: "response.completed" },
      ],
      "AB",
    ],
    [
      "K2: null in place of blocks and texts",
      ANTHROPIC,
      [
        { type: "message_start" },
        block(1, null),
        block(0, { type: "text", text: null }),
        blockDelta(0, null),
        blockDelta(0, { type: "text_delta", text: null }),
        blockDelta(0, { type: "text_delta", text: "AB" }),
        stopFor("end_turn"),
        MESSAGE_STOP,
      ],
      "AB",
    ],
    [
      "K2: the usage in an event of its own",
      ANTHROPIC,
      [
        blockDelta(0, { type: "text_delta", text: "AB" }),
        stopFor("end_turn"),
        stopFor(null),
        stopFor(undefined),
        MESSAGE_STOP,
      ],
      "AB",
    ],
    [
      "K2: null among the parts, and odd sources",
      GEMINI,
      [
        candidate([null, { text: "AB" }], {
          citationMetadata: { citations: [null, { uri: 5 }] },
          groundingMetadata: { groundingChunks: [null, { web: { uri: 5 } }] },
        }),
        STOP,
      ],
      "AB",
    ],
    [
      "I37: null among the choices",
      CHAT,
      [
        { choices: [null, { delta: { content: "A" } }] },
        { choices: [{ delta: { content: "B" } }, null] },
        { choices: [null, { delta: {}, finish_reason: "stop" }, null] },
        { choices: [null] },
      ],
      "AB",
    ],
    [
      "I37: null among the candidates",
      GEMINI,
      [
        { candidates: [null, ...candidate([{ text: "AB" }]).candidates] },
        { candidates: [null, ...STOP.candidates] },
      ],
      "AB",
    ],
    [
      "I37: null among the items of the end",
      RESPONSES,
      [responded({ output: [null, said("AB"), null, functionCall(READ)] })],
      "AB",
      [READ],
    ],
    [
      "K2: a prompt that was blocked for no reason",
      GEMINI,
      [
        { promptFeedback: { blockReason: "BLOCK_REASON_UNSPECIFIED" } },
        candidate([{ text: "AB" }]),
        STOP,
      ],
      "AB",
    ],
    [
      "K3: text that comes only whole",
      RESPONSES,
      [
        done(said("A")),
        { type: "response.output_text.done", text: "B" },
        done(said("B")),
        responded({ output: [said("A"), said("B")] }),
      ],
      "AB",
    ],
    [
      "K3: an end that alone has the items",
      RESPONSES,
      [responded({ output: [said("AB"), functionCall(READ)] })],
      "AB",
      [READ],
    ],
    [
      "K3: an end that alone has one of the calls",
      RESPONSES,
      [
        done(functionCall(READ)),
        responded({ output: [functionCall(READ), functionCall(OTHER)] }),
      ],
      "",
      [READ, OTHER],
    ],
    [
      "K4: calls without index and id",
      CHAT,
      [
        chatCalls(chatCall(READ)),
        chatCalls(chatCall(OTHER)),
        chat({}, "tool_calls"),
      ],
      "",
      [READ, OTHER],
    ],
    [
      "K4: calls that all have the index 0 and no id, as Gemini's",
      CHAT,
      [
        chatCalls(
          chatCall(READ, { index: 0, id: "" }),
          chatCall(OTHER, { index: 0, id: "" }),
        ),
        chat({}, "stop"),
      ],
      "",
      [READ, OTHER],
    ],
    ...[{ index: 0, id: "another" }, { index: null }, {}].map(
      (more): [string, Api, unknown[], string, Call[]] => [
        `K4: a call whose next piece has ${JSON.stringify(more)}`,
        CHAT,
        [
          chatCalls({
            index: 0,
            id: "1",
            function: { name: "read_file", arguments: '{"file_path":' },
          }),
          chatCalls({ function: { arguments: '"a"}' }, ...more }),
          chat({}, "tool_calls"),
        ],
        "",
        [READ],
      ],
    ),
    [
      "K5: arguments as an object",
      CHAT,
      [
        chatCalls({
          index: 0,
          id: "1",
          function: { name: "read_file", arguments: { file_path: "a" } },
        }),
        chat({}, "stop"),
      ],
      "",
      [READ],
    ],
    [
      "K5: arguments as an object",
      RESPONSES,
      [
        done({ ...functionCall(READ), arguments: { file_path: "a" } }),
        responded({}),
      ],
      "",
      [READ],
    ],
    [
      "K5: arguments as text",
      GEMINI,
      [
        candidate([{ functionCall: { name: READ.name, args: READ.args } }]),
        STOP,
      ],
      "",
      [READ],
    ],
    [
      "K5: arguments that come whole with the start of the block",
      ANTHROPIC,
      [
        block(0, {
          type: "tool_use",
          id: "1",
          name: "read_file",
          input: { file_path: "a" },
        }),
        { type: "content_block_stop", index: 0 },
        stopFor("tool_use"),
        MESSAGE_STOP,
      ],
      "",
      [READ],
    ],
    [
      "K5: blocks that share an index and are not closed",
      ANTHROPIC,
      [
        ...[READ, OTHER].flatMap(({ id, name, args }) => [
          block(0, { type: "tool_use", id, name, input: {} }),
          blockDelta(0, { type: "input_json_delta", partial_json: args }),
        ]),
        stopFor("tool_use"),
        MESSAGE_STOP,
      ],
      "",
      [READ, OTHER],
    ],
  ])("loses nothing of %s", async (_what, api, pieces, text, wanted = []) => {
    answer = events(pieces);
    const read = await generate(api);
    expect([read.text, read.failure]).toEqual([text, ""]);
    expect(calls(read.events)).toMatchObject(
      wanted.map(({ name, args }) => ({ name, args: JSON.parse(args) })),
    );
  });

  it.each<[string, Api, unknown[], string]>([
    [
      "a response that ended as cancelled",
      RESPONSES,
      [done(said("A")), responded({ status: "cancelled" })],
      "cancelled",
    ],
    [
      "a response that completed with an error",
      RESPONSES,
      [
        done(said("A")),
        responded({ error: { code: "server_error", message: "kaput" } }),
      ],
      "kaput",
    ],
    [
      "a response that is incomplete, whatever its status",
      RESPONSES,
      [done(said("A")), { type: "response.incomplete", response: {} }],
      "incomplete",
    ],
    [
      "a refusal that comes only whole",
      RESPONSES,
      [done(message({ type: "refusal", refusal: "never" })), responded({})],
      "never",
    ],
    [
      "a call whose arguments are a number",
      CHAT,
      [
        chatCalls({ index: 0, function: { name: "t", arguments: 5 } }),
        chat({}, "stop"),
      ],
      "form of its API",
    ],
  ])("K3: does not complete after %s", async (_what, api, pieces, failure) => {
    answer = events(pieces);
    expect((await generate(api)).failure).toContain(failure);
  });
});

describe.each(APIS)("a stream of $name that is left open", (api) => {
  it("K1: ends with its answer", async () => {
    isLeftOpen = true;
    answer = events(api.pieces(["AB"], [READ]));
    const { text, failure, events: all } = await generate(api);
    isLeftOpen = false;
    server.closeAllConnections();
    expect([text, failure, calls(all).length]).toEqual(["AB", "", 1]);
  });

  it("K1: fails without an end", async () => {
    isLeftOpen = true;
    const pieces = api.pieces(["AB"]);
    answer = events(pieces.slice(0, pieces.findIndex(hasText) + 1));
    const { text, failure } = await generate(api);
    isLeftOpen = false;
    server.closeAllConnections();
    expect([text, failure]).toEqual(["AB", expect.stringContaining("arrive")]);
  });
});

describe.each(WHOLE)(
  "an answer in place of a stream of $name",
  (api, whole) => {
    it.each([
      ["application/json", JSON.stringify(whole)],
      ["application/json; charset=utf-8", JSON.stringify(whole, null, 2)],
      ["text/plain", `\ufeff\r\n${JSON.stringify(whole)}\r\n`],
      ["text/event-stream", JSON.stringify(whole, null, 2)],
      ["application/json", JSON.stringify([null, whole], null, 2)],
    ])("I37: is used where it is whole: %s", async (type, body) => {
      [mediaType, answer] = [type, body];
      const { text, failure, events: all } = await generate(api);
      mediaType = "text/event-stream";
      expect([text, failure]).toEqual(["AB", ""]);
      expect(calls(all)).toMatchObject([{ name: "t", args: { n: 1 } }]);
      expect(all.find((each) => each.case === "usage")).toMatchObject({
        value: { inputTokens: 7n },
      });
    });

    it.each([
      ["text/html; charset=utf-8", "<html><title>Log in</title>", "Log in"],
      ["text/html", "<!DOCTYPE html><p>no title", "DOCTYPE"],
      [
        "application/json",
        '{"error":{"message":"no such plan"}}',
        "no such plan",
      ],
      ["application/json", '{\n  "error": {"message": "kaput"}\n}', "kaput"],
      ["application/json", '{"error":"kaput"}', "kaput"],
      ["application/json", '{"detail":"Not Found"}', "Not Found"],
      ["application/json", '{"message":"kaput"}', "kaput"],
      ["application/json", '{"choices":', "choices"],
      ["application/json", "[]", "[]"],
      ["text/plain", "upstream \u001b[31mgone", "upstream \\u{1b}[31mgone"],
    ])("I37: fails once with what came: %s %s", async (type, body, words) => {
      [mediaType, answer] = [type, body];
      const before = requests;
      const { failure } = await generate(api);
      mediaType = "text/event-stream";
      expect([requests - before, failure]).toEqual([
        1,
        expect.stringContaining(words),
      ]);
      expect(failure).toContain(type.split(";", 1)[0]);
    });

    it("I37: tries again after an error that may pass", async () => {
      const error = {
        type: "rate_limit_error",
        code: api === GEMINI ? 429 : undefined,
        message: "slow down",
      };
      answer = JSON.stringify({ error }, null, 1);
      const before = requests;
      const { failure } = await generate(api);
      expect([requests - before, failure]).toEqual([
        2,
        expect.stringMatching(/429.*slow down/),
      ]);
    });

    it("I37: says what error came as an event", async () => {
      answer = event({ error: { message: "kaput" } });
      const before = requests;
      expect((await generate(api)).failure).toContain("kaput");
      expect(requests - before).toBe(1);
    });

    it("I37: lists no models of a page", async () => {
      [mediaType, answer] = ["text/html", "<html><title>Log in</title>"];
      const listed = api.model().listModels?.(AbortSignal.timeout(60_000));
      await expect(listed).rejects.toThrow("text/html");
      mediaType = "text/event-stream";
    });
  },
);

function hasText(piece: unknown): boolean {
  return JSON.stringify(piece).includes("AB");
}

/** What may happen to one event on its way, and whether its text may be lost. */
const MUTATIONS: readonly ((json: string) => string)[] = [
  (json) => `event: message\ndata: ${json}\n\n`,
  (json) => `id: 5\n: c\ndata:${json}\n\n`,
  (json) => `data: ${json.replaceAll(",", ",\r\ndata:")}\r\n\r\n`,
  (json) => `data: ${json}\n\ndata:\n\n`,
  (json) => `data: ${json}\r\r`,
  (json) => `data: ${json.slice(0, -1)}\n\n`,
  (json) => `${json}\n\n`,
  (json) => `dta: ${json}\n\n`,
  (json) => `data: ${json.replaceAll('"', "'")}\n\n`,
];

it("loses no piece of a stream and completes, whatever happens to one event", async () => {
  const rounds = roundsOf("DEVTOOL_STREAM_ROUNDS", {
    quick: 100,
    ci: 200,
    deep: 10_000,
  });
  let [whole, failed] = [0, 0];
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...APIS),
      fc.array(fc.string({ minLength: 1, unit: "binary" }), {
        minLength: 1,
        maxLength: 5,
      }),
      fc.nat(),
      fc.constantFrom(...MUTATIONS),
      async (api, texts, at, mutate) => {
        const pieces = api.pieces(texts).map(write);
        const index = at % pieces.length;
        answer = pieces
          .map((json, place) =>
            place === index ? mutate(json) : `data: ${json}\n\n`,
          )
          .join("");
        const { text, failure } = await generate(api);
        if (failure === "") {
          whole++;
          expect(text).toBe(texts.join("").toWellFormed());
        } else {
          failed++;
          expect(texts.join("").toWellFormed()).toContain(text);
        }
      },
    ),
    { numRuns: rounds, seed: seedOf() },
  );
  expect(Math.min(whole, failed)).toBeGreaterThan(rounds / 10);
  expect(requests).toBeGreaterThan(rounds);
}, 600_000);

/** What may stand where a value should be; undefined leaves it out. */
const ODD_VALUES: readonly unknown[] = [
  undefined,
  null,
  77,
  "odd",
  true,
  [],
  [77],
  {},
  { odd: 1 },
];
const WORDS = ["alpha", "beta", "gamma", "kilo", "epsilon"];

it("B2: loses no more of an answer than the value that is odd, and tells what it lost", async () => {
  const rounds = roundsOf("DEVTOOL_VALUE_ROUNDS", {
    quick: 100,
    ci: 200,
    deep: 10_000,
  });
  let [whole, told] = [0, 0];
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...APIS),
      fc.nat(),
      fc.nat(),
      fc.constantFrom(...ODD_VALUES),
      async (api, place, step, value) => {
        const calling = [3, 4].map((at) => ({
          id: `c${at}`,
          name: `c${at}`,
          args: JSON.stringify({ word: WORDS[at] }),
        }));
        const pieces: unknown[] = JSON.parse(
          write(api.pieces(WORDS.slice(0, 3), calling)),
        );
        const index = place % pieces.length;
        const paths = pathsOf(pieces[index]);
        const path = paths[step % paths.length] ?? [];
        // Events of a type that is new are left out, says OpenAI.
        fc.pre(api !== RESPONSES || path.join() !== "type" || value !== "odd");
        const odd = replaced(pieces[index], path, value);
        answer = events(pieces.toSpliced(index, 1, odd));
        const { text, failure, events: all } = await generate(api);
        expect(failure).not.toMatch(/TypeError|undefined|not iterable/);
        const before = JSON.stringify(pieces.slice(0, index));
        const shown = text + JSON.stringify(calls(all).map(({ args }) => args));
        const missing = WORDS.filter((word) => !shown.includes(word));
        const early = WORDS.slice(0, 3).filter((word) => before.includes(word));
        expect(missing.filter((word) => early.includes(word))).toEqual([]);
        if (failure !== "" || notices(all).length > 0) {
          told++;
          return;
        }
        whole++;
        const own = JSON.stringify(pieces[index]);
        const left = JSON.stringify(odd);
        expect(
          missing.filter((word) => !own.includes(word) || left.includes(word)),
        ).toEqual([]);
        const isWrong = /^(?:77|true)$/.test(String(value));
        // What the arguments of a call hold is the tool's.
        if (isWrong && !path.includes("args")) expect(missing).toEqual([]);
      },
    ),
    { numRuns: rounds, seed: seedOf() },
  );
  expect(Math.min(whole, told)).toBeGreaterThan(rounds / 10);
}, 600_000);

/** The paths of all values in JSON, of the whole first. */
function pathsOf(json: unknown, path: readonly string[] = []): string[][] {
  const entries = Object.entries(Object(json)).filter(
    () => typeof json === "object",
  );
  return [
    [...path],
    ...entries.flatMap(([key, value]) => pathsOf(value, [...path, key])),
  ];
}

/** Returns JSON with another value at a path, or without the one there. */
function replaced(
  json: unknown,
  [key, ...rest]: readonly string[],
  value: unknown,
): unknown {
  if (key === undefined) return value ?? null;
  const old: unknown = Reflect.get(Object(json), key);
  const next = rest.length === 0 ? value : replaced(old, rest, value);
  if (!Array.isArray(json)) return { ...Object(json), [key]: next };
  return next === undefined
    ? json.toSpliced(Number(key), 1)
    : json.with(Number(key), next);
}
