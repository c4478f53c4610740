import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { setImmediate as nextTurn } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { create } from "@bufbuild/protobuf";
import { createAnthropicModel } from "@devtool/anthropic";
import type { Model, ModelEvent } from "@devtool/coding-agent/model";
import { createGeminiModel } from "@devtool/gemini";
import { createOpenAiModel } from "@devtool/openai";
import { MessageSchema, Role } from "@devtool/schema";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { LEFT_TO_CI, variantsOf } from "../depth.ts";

const MIB = 1024 * 1024;
const signal = AbortSignal.timeout(300_000);

/** A call as a hostile API sends it: each field may be anything. */
interface HostileCall {
  readonly index: number;
  readonly name: unknown;
  readonly args: unknown;
}

/** An API: how its model is made, and how its answers look. */
interface HostileApi {
  readonly api: string;
  readonly createModel: (url: string) => Model;
  /** Events with a text, which may be anything. */
  readonly text: (text: unknown) => readonly object[];
  /** Events with a call. */
  readonly call: (call: HostileCall) => readonly object[];
  /** An event that means nothing, with this many more bytes. */
  readonly filler: (bytes: number) => object;
  readonly end: readonly object[];
}

const base = { apiKey: "k", model: "m", retry: { maxAttempts: 1 } };

const APIS: readonly HostileApi[] = [
  {
    api: "OpenAI's Chat Completions API",
    createModel: (url) =>
      createOpenAiModel({ ...base, baseUrl: url, api: "chat-completions" }),
    text: (content) => [chatChunk({ content })],
    call: ({ index, name, args }) => {
      return [
        chatChunk({
          tool_calls: [
            { index, id: `c${index}`, function: { name, arguments: args } },
          ],
        }),
      ];
    },
    filler: (bytes) => ({ choices: [], padding: "x".repeat(bytes) }),
    end: [{ choices: [{ index: 0, delta: {}, finish_reason: "tool_calls" }] }],
  },
  {
    api: "OpenAI's Responses API",
    createModel: (url) =>
      createOpenAiModel({ ...base, baseUrl: url, api: "responses" }),
    text: (delta) => [{ type: "response.output_text.delta", delta }],
    call: ({ index, name, args }) => {
      const item = {
        type: "function_call",
        call_id: `c${index}`,
        name,
        arguments: args,
      };
      return [{ type: "response.output_item.done", item }];
    },
    filler: (bytes) => ({
      type: "response.in_progress",
      padding: "x".repeat(bytes),
    }),
    end: [{ type: "response.completed", response: { status: "completed" } }],
  },
  {
    api: "Anthropic's Messages API",
    createModel: (url) => createAnthropicModel({ ...base, baseUrl: url }),
    text: (text) => [
      {
        type: "content_block_delta",
        index: 0,
        delta: { type: "text_delta", text },
      },
    ],
    call: ({ index, name, args }) => [
      {
        type: "content_block_start",
        index,
        content_block: { type: "tool_use", id: `c${index}`, name, input: {} },
      },
      {
        type: "content_block_delta",
        index,
        delta: { type: "input_json_delta", partial_json: args },
      },
      { type: "content_block_stop", index },
    ],
    filler: (bytes) => ({
      type: "content_block_stop",
      index: 1e9,
      padding: "x".repeat(bytes),
    }),
    end: [
      { type: "message_delta", delta: { stop_reason: "tool_use" }, usage: {} },
      { type: "message_stop" },
    ],
  },
  {
    api: "the Gemini API",
    createModel: (url) => createGeminiModel({ ...base, baseUrl: url }),
    text: (text) => [geminiPiece({ text })],
    call: ({ index, name, args }) => {
      return [
        geminiPiece({
          functionCall: {
            id: `c${index}`,
            name,
            args: typeof args === "string" ? { args } : args,
          },
        }),
      ];
    },
    filler: (bytes) => ({ candidates: [], padding: "x".repeat(bytes) }),
    end: [{ candidates: [{ content: { parts: [] }, finishReason: "STOP" }] }],
  },
];

function chatChunk(delta: object): object {
  return { choices: [{ index: 0, delta, finish_reason: null }] };
}

function geminiPiece(part: object): object {
  return { candidates: [{ content: { role: "model", parts: [part] } }] };
}

/**
 * An SDK reads 128 MiB before it is stopped, which takes a second or two of
 * processor time.
 */
const READ_WHOLE = variantsOf("APIs whose answer has no end", APIS, 1);

describe.each(APIS)(
  "a model behind $api that is hostile",
  ({ api, createModel, text, call, filler, end }) => {
    let answer: (response: ServerResponse) => void;
    let sentBytes = 0;
    let requests: string[] = [];
    const server = createServer((request, response) => {
      requests.push(request.url ?? "");
      request.resume().once("end", () => answer(response));
    });
    let url = "";
    beforeAll(async () => {
      server.listen(0, "127.0.0.1");
      await once(server, "listening");
      const address = server.address();
      if (address === null || typeof address === "string") {
        throw new Error("no port");
      }
      url = `http://127.0.0.1:${address.port}`;
    });
    beforeEach(() => {
      sentBytes = 0;
      requests = [];
    });
    afterAll(() => void server.close().closeAllConnections());

    it.each<readonly [string, readonly object[]]>([
      ["text is a number", text(5)],
      ["text is an object", text({ length: 1 })],
      [
        "tool has an object as its name",
        call({ index: 1, name: { length: 1 }, args: "{}" }),
      ],
      [
        "tool has a number as its name",
        call({ index: 1, name: 7, args: "{}" }),
      ],
    ])("fails a step whose %s, and says so", async (_what, events) => {
      await expect(play([...events, ...end])).rejects.toThrow(
        "the model's answer does not have the form of its API",
      );
    });

    it("fails a step that calls a tool with an endless name", async () => {
      const named = call({ index: 1, name: "n".repeat(MIB), args: "{}" });
      await expect(play([...named, ...end])).rejects.toThrow(
        "has 1048576 characters: limit is 256",
      );
    });

    it("fails a step with endless calls after a thousand of them", async () => {
      const calls = endless((index) =>
        call({ index, name: "glob", args: "{}" }),
      );
      await expect(play(calls)).rejects.toThrow(
        "the model's answer has more than 1000 calls",
      );
      expect(sentBytes).toBeLessThan(16 * MIB);
    });

    it("fails a step whose piece has no end, however short its lines are", async () => {
      const lines = ": comment\n".repeat(6000);
      await expect(collect(stream(endless(() => [lines])))).rejects.toThrow(
        "a piece of the model's answer has more than",
      );
      expect(sentBytes).toBeLessThan(16 * MIB);
    });

    const isReadWhole = READ_WHOLE.some((one) => one.api === api);
    it.skipIf(!isReadWhole)(
      `fails a step whose answer has no end${isReadWhole ? "" : LEFT_TO_CI}`,
      async () => {
        const fillers = endless(() => [filler(MIB)]);
        await expect(play(fillers)).rejects.toThrow(
          "the model's answer has more than 134217728 bytes",
        );
        expect(sentBytes).toBeLessThan(160 * MIB);
      },
    );

    it("fails a step whose answer is small only while it is compressed", async () => {
      const body = gzipSync(Buffer.alloc(64 * MIB, "x"));
      answer = (response) =>
        response.writeHead(200, { "content-encoding": "gzip" }).end(body);
      await expect(collect(createModel(url))).rejects.toThrow(
        "a piece of the model's answer has more than",
      );
    });

    it("sends the key to no other address that the API names", async () => {
      answer = (response) =>
        response.writeHead(307, { location: `${url}/elsewhere` }).end();
      await expect(collect(createModel(url))).rejects.toThrow(
        "the model answered with status 307",
      );
      expect(requests).toHaveLength(1);
    });

    it("does not let an argument named __proto__ replace the prototype of a call's arguments", async () => {
      const args = JSON.parse('{"__proto__":{"file_path":"x"}}');
      const [event] = (
        await play([
          ...call({ index: 1, name: "glob", args: JSON.stringify(args) }),
          ...end,
        ])
      ).filter(({ case: kind }) => kind === "toolCall");
      if (event?.case !== "toolCall") throw new Error("there is no call");
      expect(Object.getPrototypeOf(event.value.args)).toBe(Object.prototype);
      expect(event.value.args).not.toHaveProperty("file_path");
    });

    function play(events: Iterable<object>): Promise<ModelEvent[]> {
      return collect(stream(events));
    }

    /** Sends events, or lines, for as long as somebody reads. */
    function stream(events: Iterable<object | string>): Model {
      answer = (response) => {
        response
          .on("error", () => undefined)
          .writeHead(200, { "content-type": "text/event-stream" });
        void send(response, events);
      };
      return createModel(url);
    }

    async function send(
      response: ServerResponse,
      events: Iterable<object | string>,
    ): Promise<void> {
      for (const event of events) {
        const kind =
          event !== null && typeof event === "object" && "type" in event
            ? `event: ${event.type}\n`
            : "";
        const frame =
          typeof event === "string"
            ? event
            : `${kind}data: ${JSON.stringify(event)}\n\n`;
        sentBytes += frame.length;
        response.write(frame);
        while (response.writableNeedDrain && !response.destroyed) {
          await nextTurn();
        }
        if (response.destroyed) return;
      }
      response.end();
    }
  },
);

function* endless<Item>(
  make: (index: number) => readonly Item[],
): Iterable<Item> {
  for (let index = 0; ; index++) yield* make(index);
}

async function collect(model: Model): Promise<ModelEvent[]> {
  const tools = [
    { name: "glob", description: "", parameters: { type: "object" } },
  ];
  const parts = [{ content: { case: "text" as const, value: "hello" } }];
  const history = [create(MessageSchema, { role: Role.USER, parts })];
  const request = {
    history,
    tools,
    workspacePath: "/",
    instructions: () => Promise.resolve(""),
    model: "",
  };
  const events: ModelEvent[] = [];
  for await (const event of model.generate(request, signal)) events.push(event);
  return events;
}
