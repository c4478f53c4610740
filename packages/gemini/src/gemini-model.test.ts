import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { create } from "@bufbuild/protobuf";
import type {
  Model,
  ModelEvent,
  ModelRequest,
} from "@devtool/coding-agent/model";
import { type Message, MessageSchema, Role } from "@devtool/schema";
import { Code } from "@devtool/server/agent";
import {
  afterAll,
  beforeAll,
  beforeEach,
  describe,
  expect,
  it,
  vi,
} from "vitest";
import { createGeminiModel } from "./gemini-model.ts";
import type { GeminiOptions } from "./gemini-options.ts";
import { type FakeModel, startFakeGemini } from "./testing/index.ts";

const { signal } = new AbortController();

describe("the Gemini model", () => {
  let fake: FakeModel;
  const waits: number[] = [];
  beforeAll(async () => {
    fake = await startFakeGemini();
  });
  beforeEach(() => {
    fake.reset();
    waits.length = 0;
  });
  afterAll(() => fake[Symbol.asyncDispose]());

  function model(options: Partial<GeminiOptions> = {}): Model {
    return createGeminiModel({
      apiKey: "secret-key",
      baseUrl: fake.url,
      model: "gemini-test",
      random: () => 0.5,
      sleep: async (ms) => {
        waits.push(ms);
      },
      ...options,
    });
  }

  const ask = (
    script: string,
    options?: Partial<GeminiOptions>,
  ): Promise<ModelEvent[]> =>
    Array.fromAsync(model(options).generate(request([prompt(script)]), signal));

  it("streams thoughts, text, citations and usage", async () => {
    const events = await ask("think\ntext hello\ncite https://example.org/a");
    expect(events.map(({ case: kind }) => kind)).toEqual([
      "thought",
      "text",
      "citation",
      "usage",
    ]);
    expect(events[0]?.value).toMatchObject({
      subject: "Subject 1",
      description: "Description 1.",
    });
    expect(events[2]?.value).toMatchObject({ uri: "https://example.org/a" });
    expect(events[3]?.value).toMatchObject({ outputTokens: 2n });
  });

  it("sends the tools, the instructions and the model of the request", async () => {
    const tools = [
      {
        name: "read_file",
        description: "Reads.",
        parameters: { type: "object", properties: {} },
      },
    ];
    const asked = {
      ...request([prompt("text hi")]),
      tools,
      instructions: async () => "Be brief.",
      model: "gemini-other",
    };
    await Array.fromAsync(model().generate(asked, signal));
    expect(fake.requests()).toMatchObject([
      {
        model: "gemini-other",
        tools: ["read_file"],
        body: {
          systemInstruction: { parts: [{ text: "Be brief." }] },
          generationConfig: { thinkingConfig: { includeThoughts: true } },
          tools: [
            {
              functionDeclarations: [
                { parametersJsonSchema: { type: "object" } },
              ],
            },
          ],
        },
      },
    ]);
  });

  it("yields a call that comes twice under one id once, and two equal calls twice", async () => {
    expect(toolCalls(await ask("read a.txt\nduplicate"))).toHaveLength(1);
    expect(toolCalls(await ask("read a.txt x2"))).toHaveLength(2);
  });

  describe("when a request fails before its answer begins", () => {
    it("repeats the request with a notice, after a random wait below a bound that doubles", async () => {
      const events = await ask("fail 503 3\ntext hello");
      expect(joinText(events)).toBe("hello");
      expect(waits).toEqual([500, 1000, 2000]);
      const notices = events.filter(({ case: kind }) => kind === "notice");
      expect(notices.map(({ value }) => value)).toMatchObject([
        { attempt: 1 },
        { attempt: 2 },
        { attempt: 3 },
      ]);
      expect(notices[0]?.value).toMatchObject({
        retryDelay: { seconds: 0n, nanos: 500_000_000 },
      });
    });

    it("fails at once if the API asks for a longer wait than is allowed", async () => {
      await expect(ask("fail 429 1 after 500\ntext hello")).rejects.toThrow(
        "status 429",
      );
      expect(waits).toEqual([]);
    });

    it("gives up after five attempts", async () => {
      await expect(ask("fail 500")).rejects.toThrow(/status 500.*5 tries/);
      expect(fake.requests()).toHaveLength(5);
    });

    it.each([400, 401, 403, 404])(
      "does not repeat a request that failed with status %d",
      async (status) => {
        await expect(ask(`fail ${status}`)).rejects.toThrow(`status ${status}`);
        expect(fake.requests()).toHaveLength(1);
      },
    );

    it.each(["reset", "cut", "malformed", "badutf8", "empty", "hang"])(
      "repeats the request after: %s",
      async (how) => {
        // The next attempt has the same timeout, which must be long enough for
        // a busy machine.
        const timeouts = how === "hang" ? { firstByteMs: 2000 } : {};
        expect(joinText(await ask(`${how} 2\ntext hello`, { timeouts }))).toBe(
          "hello",
        );
        expect(fake.requests()).toHaveLength(3);
      },
    );

    it("repeats the request if the model made an invalid call", async () => {
      await expect(ask("finish MALFORMED_FUNCTION_CALL")).rejects.toThrow(
        "cannot be read",
      );
      expect(fake.requests()).toHaveLength(5);
    });

    it.each([
      "MALFORMED_FUNCTION_CALL",
      "MALFORMED_RESPONSE",
      "UNEXPECTED_TOOL_CALL",
    ])(
      "does not repeat it once text was said: the answer fails, and its calls do not run: %s",
      async (reason) => {
        const script = `text hello\nread a.txt\nfinish ${reason}`;
        const answer = model().generate(request([prompt(script)]), signal);
        const kinds: string[] = [];
        const read = async (): Promise<void> => {
          for await (const event of answer) kinds.push(event.case);
        };
        await expect(read()).rejects.toMatchObject({ code: Code.Unavailable });
        expect(kinds).toEqual(["text"]);
        expect([fake.requests().length, waits]).toEqual([1, []]);
      },
    );

    it("reports a request that cannot be sent, and does not repeat it", async () => {
      const vertex = { project: "p", location: "global" };
      vi.stubEnv("GOOGLE_APPLICATION_CREDENTIALS", "/no/such/file.json");
      await expect(ask("text hi", { vertex })).rejects.toThrow(
        /could not be made .*check the credentials/,
      );
      vi.unstubAllEnvs();
      expect([fake.requests(), waits]).toEqual([[], []]);
    });

    it("reports that nothing listens", async () => {
      const gone = await startFakeGemini();
      await gone[Symbol.asyncDispose]();
      await expect(ask("text hi", { baseUrl: gone.url })).rejects.toThrow(
        "ECONNREFUSED",
      );
    });
  });

  describe("when an answer breaks off", () => {
    it.each([
      ["reset", /connection to the model broke/],
      ["cut", /ended in the middle/],
      ["malformed", /not JSON/],
      ["badutf8", /not UTF-8/],
      ["hang", /next piece .* did not arrive within 100 ms/],
    ])(
      "fails after: %s, keeps its text and drops its calls",
      async (how, words) => {
        const seen: ModelEvent[] = [];
        const read = async (): Promise<void> => {
          const script = `text begun\nwait 20\nwrite a.txt\n${how}`;
          const timeouts = how === "hang" ? { idleMs: 100 } : {};
          for await (const event of model({ timeouts }).generate(
            request([prompt(script)]),
            signal,
          )) {
            seen.push(event);
          }
        };
        await expect(read()).rejects.toThrow(words);
        expect(seen).toEqual([{ case: "text", value: "begun" }]);
        expect(fake.requests()).toHaveLength(1);
      },
    );

    it.each([
      ["MAX_TOKENS", "output limit"],
      ["SAFETY", "safety filter"],
      ["RECITATION", "protected text"],
      ["NEW_REASON", "NEW_REASON"],
    ])("explains why it stopped: %s", async (reason, words) => {
      await expect(ask(`text begun\nfinish ${reason}`)).rejects.toThrow(words);
    });
  });

  it("limits the time of an answer that never pauses long enough for a timeout", async () => {
    const asked = ask("drip 5\nsay 1000", {
      timeouts: { turnMs: 200, idleMs: 5000 },
    });
    await expect(asked).rejects.toThrow("longer than 200 ms");
  });

  it("refuses arguments of more than a mebibyte", async () => {
    await expect(ask("hugeargs 1100000")).rejects.toThrow(
      /"write_file" are too large.*1048576/,
    );
  });

  it.each([
    [400, 0],
    [500, 0],
    [500, 270],
  ])(
    "shows its key in no error and no notice, even where a message is cut within it: status %d, after %d characters",
    async (status, before) => {
      const echo = createServer(({ headers }, response) => {
        const message = `${"x".repeat(before)} ${headers["x-goog-api-key"]} is wrong`;
        response.writeHead(status).end(JSON.stringify({ error: { message } }));
      });
      await once(echo.listen(0, "127.0.0.1"), "listening");
      const { port } = echo.address() as AddressInfo;
      const shown: string[] = [];
      const asking = async (): Promise<void> => {
        const apiKey = `secret-key-${"0123456789".repeat(4)}`;
        const asked = model({ baseUrl: `http://127.0.0.1:${port}`, apiKey });
        for await (const event of asked.generate(
          request([prompt("text hi")]),
          signal,
        )) {
          if (event.case === "notice") shown.push(event.value.text);
        }
      };
      shown.push(String(await asking().catch((reason: unknown) => reason)));
      expect(shown).toHaveLength(status === 500 ? 5 : 1);
      for (const text of shown) expect(text).toMatch(/^(?!.*secret-k).*\*\*\*/);
      echo.close();
    },
  );
});

function request(history: readonly Message[]): ModelRequest {
  return {
    history,
    tools: [],
    workspacePath: "/w",
    instructions: async () => "",
    model: "",
  };
}

function prompt(text: string): Message {
  return create(MessageSchema, {
    role: Role.USER,
    parts: [{ content: { case: "text", value: text } }],
  });
}

function toolCalls(events: readonly ModelEvent[]) {
  return events.flatMap((event) =>
    event.case === "toolCall" ? [event.value] : [],
  );
}

function joinText(events: readonly ModelEvent[]): string {
  return events
    .map((event) => (event.case === "text" ? event.value : ""))
    .join("");
}
