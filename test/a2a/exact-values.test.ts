import { create } from "@bufbuild/protobuf";
import { streamMessage, textMessage } from "@devtool/client";
import { notificationEvent } from "@devtool/client/webhook";
import { serveCodingAgent } from "@devtool/coding-agent";
import {
  isExactNumber,
  quoteInexactNumbers,
} from "@devtool/internal/exact-json";
import { AgentThoughtSchema, assertExactJson } from "@devtool/schema";
import {
  type Agent,
  type AgentEvent,
  createServer,
  type DevtoolServer,
} from "@devtool/server";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { clientOf } from "../client-of.ts";
import { bindingsOf, type Json } from "../conformance/tck/bindings.ts";
import { roundsOf, seedOf } from "../depth.ts";
import { postJson } from "../post-json.ts";

const BIG = "9007199254740993";
const INEXACT = [
  BIG,
  `-${BIG}`,
  "1e400",
  "0.1000000000000000055511151",
  "1e-400",
];
const EXACT = ["9007199254740992", "5.0", "1e0", "0.1", "-0", "1E+2", "1e308"];
const part = (data: string) => `{"kind":"data","data":{"n":${data}}}`;
const message = (parts: string, more = "") =>
  `{"messageId":"${crypto.randomUUID()}","role":"user","parts":[${parts}]${more}}`;

describe("values of requests", () => {
  let server: DevtoolServer;
  beforeAll(async () => {
    server = await serveCodingAgent({ workspace: process.cwd() });
  });
  afterAll(() => server.close());

  const post = async (path: string, body: string, version = "0.3") => {
    const response = await postJson(server, path, body, {
      "a2a-version": version,
    });
    return { status: response.status, text: await response.text() };
  };
  const get = async (path: string, version = "0.3") => {
    const response = await fetch(`${server.url}${path}`, {
      headers: {
        authorization: `Bearer ${server.token}`,
        "a2a-version": version,
      },
    });
    return { status: response.status, text: await response.text() };
  };
  const send = (said: string, id = "1") =>
    post(
      "/",
      `{"jsonrpc":"2.0","id":${id},"method":"message/send","params":{"message":${said}}}`,
    );

  it.each(INEXACT)(
    "F15: with the number %s, whose digits would be lost, are refused",
    async (n) => {
      const wrong = {
        inId: send(message(part("1")), n),
        inData: send(message(part(n))),
      };
      const more = `,"metadata":{"x":{"y":[${n}]}}`;
      const bodies = [
        ...Object.values(wrong),
        send(message(part("1"), more)),
        post(
          "/v1/message:send",
          `{"message":{"messageId":"m","role":"ROLE_USER","content":[{"data":{"data":{"n":${n}}}}]}}`,
        ),
        post(
          "/message:send",
          `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"data":{"n":${n}}}]}}`,
          "1.0",
        ),
        post(
          "/devtool.v1alpha.TaskService/SendMessage",
          `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"data":{"n":${n}}}]}}`,
        ),
      ];
      for (const { text } of await Promise.all(bodies)) {
        expect(text).toMatch(/"(?:error|code|message)"/);
        expect(text).toMatch(/whose digits would be lost|is too big/);
      }
    },
  );

  it.each(EXACT)("F15: with the number %s come back as it was", async (n) => {
    const { text } = await send(message(part(n)));
    const { history } = JSON.parse(text).result;
    expect(history[0].parts[0].data.n).toBe(Number(n) + 0);
  });

  it.each([
    ["the role", `"role":"agent",`],
    ["an escaped spelling", `"r\\u006fle":"agent",`],
    ["the parts", `"parts":[],`],
  ])("F17: with %s twice are refused in all bindings", async (_what, extra) => {
    const said = message(part("1")).replace("{", `{${extra}`);
    const v1 = `{"message":{${extra}"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}]}}`;
    const answers = await Promise.all([
      send(said),
      post("/v1/message:send", `{"message":{${extra}${extra}"messageId":"m"}}`),
      post("/message:send", v1, "1.0"),
      post("/devtool.v1alpha.TaskService/SendMessage", v1),
    ]);
    for (const { text } of answers) {
      expect(text).toContain("is given twice in one object: give it once");
    }
  });

  it.each([
    '"0x5"',
    '" 5"',
    '"5 "',
    '"05"',
    '"+5"',
    '"0b1"',
    '"\\t5"',
    '"-05"',
  ])("F16: with the integer %s are refused", async (after) => {
    const { text } = await post(
      "/devtool.v1alpha.TaskService/ListTasks",
      `{"pageSize":${after}}`,
    );
    expect(JSON.parse(text)).toMatchObject({
      code: "invalid_argument",
      message: expect.stringContaining("is not an integer"),
    });
    const rpc = (method: string, params: string, version?: string) =>
      post(
        "/",
        `{"jsonrpc":"2.0","id":1,"method":"${method}","params":{${params}}}`,
        version,
      );
    const said = '"messageId":"m","role":"user","parts":[]';
    const said1 = '"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}]';
    const configured = `"configuration":{"historyLength":${after}}`;
    const query = encodeURIComponent(JSON.parse(after));
    const answers = await Promise.all([
      rpc("tasks/get", `"id":"t","historyLength":${after}`),
      rpc("message/send", `"message":{${said}},${configured}`),
      rpc("GetTask", `"id":"t","historyLength":${after}`, "1.0"),
      rpc("ListTasks", `"pageSize":${after}`, "1.0"),
      rpc("SendMessage", `"message":{${said1}},${configured}`, "1.0"),
      post("/message:send", `{"message":{${said1}},${configured}}`, "1.0"),
      get(`/v1/tasks/t?historyLength=${query}`),
      get(`/v1/tasks?pageSize=${query}`),
      get(`/tasks/t?historyLength=${query}`, "1.0"),
      get(`/tasks?pageSize=${query}`, "1.0"),
    ]);
    for (const answer of answers) {
      expect(answer.text).toMatch(
        /(?:historyLength|pageSize)\b.* must be an? (?:integer|number)/,
      );
    }
  });

  it("F16: without digits in the query are refused in both versions", async () => {
    const answers = await Promise.all([
      get("/v1/tasks/t?historyLength="),
      get("/v1/tasks/t?history_length="),
      get("/v1/tasks?pageSize="),
      get("/v1/tasks?page_size="),
      get("/tasks/t?historyLength=", "1.0"),
      get("/tasks?pageSize=", "1.0"),
      get("/tasks?page_size=", "1.0"),
    ]);
    for (const answer of answers) {
      expect(answer.status).toBe(400);
      expect(answer.text).toMatch(
        /(?:historyLength|pageSize)\b.* must be an? (?:integer|number)/,
      );
    }
  });

  it.each(["5", '"5"', "5.0", "1e0", "null"])(
    "F16: with the integer %s are taken",
    async (after) => {
      const { status } = await post(
        "/devtool.v1alpha.TaskService/ListTasks",
        `{"pageSize":${after}}`,
      );
      expect(status).toBe(200);
    },
  );
});

const MUTANTS = roundsOf("DEVTOOL_EXACT_MUTANTS", {
  quick: 100,
  ci: 300,
  deep: 10_000,
});

// Those that are not written with an exponent.
const wholes = fc.bigInt({ min: -(10n ** 20n), max: 10n ** 20n });
const values = fc.jsonValue().map((value) => JSON.stringify({ value }));

describe("mutants of valid JSON", () => {
  it("F15, F17: are refused if one number loses digits or one name occurs twice, and only then", () => {
    const seed = seedOf();
    fc.assert(
      fc.property(values, wholes, fc.string(), (json, whole, name) => {
        expect(() => assertExactJson(json)).not.toThrow();
        const holder = JSON.stringify({ [name]: 0 });
        const number = holder.replace(/0}$/, () => `[${json},${whole}]}`);
        const isKept = BigInt(String(Number(whole))) === whole;
        const check = expect(() => assertExactJson(number));
        if (isKept) {
          check.not.toThrow();
        } else {
          check.toThrow("digits would be lost");
        }
        const member = holder.slice(1, -1);
        const twice = `[${json},{${member},${JSON.stringify(`${name}x`)}:${json},${member}}]`;
        expect(() => assertExactJson(twice)).toThrow("is given twice");
      }),
      { numRuns: MUTANTS, seed },
    );
  });
});

describe("B6: numbers of JSON that others send", () => {
  const FIELDS = new Set(["data"]);
  it.each(INEXACT)("keep the digits of %s in a string", (n) => {
    const text = `[${n},{"data":[${n},{"n":-1,"x":${n}}],"n":${n}, "d\\u0061ta" : ${n}},"${n}"]`;
    expect(JSON.parse(quoteInexactNumbers(text))).toEqual([
      n,
      { data: n, n },
      n,
    ]);
    expect(JSON.parse(quoteInexactNumbers(text, FIELDS))).toEqual([
      Number(n),
      { data: n, n: Number(n) },
      n,
    ]);
  });

  it("keep their values if they are exact, and never make invalid JSON valid", () => {
    const seed = seedOf();
    const any = fc.oneof(values, values.map(spoil), fc.string());
    fc.assert(
      fc.property(any, wholes, (json, whole) => {
        const text = `[${json},{"data":${whole}},${whole}]`;
        const isKept = BigInt(String(Number(whole))) === whole;
        const kept = isKept ? Number(whole) : String(whole);
        const before = parsed(text);
        const after = parsed(quoteInexactNumbers(text));
        const some = parsed(quoteInexactNumbers(text, FIELDS));
        if (before === undefined) {
          expect([after, some]).toEqual([undefined, undefined]);
          return;
        }
        expect(after).toEqual(JSON.parse(text, digitsOrNumber));
        expect(some).toEqual([
          ...before.slice(0, -2),
          { data: kept },
          Number(whole),
        ]);
      }),
      { numRuns: MUTANTS, seed },
    );
  });

  it.each(INEXACT)("reach the receiver of a webhook as %s", (n) => {
    const body = `{"kind":"artifact-update","taskId":"t","contextId":"c","artifact":{"artifactId":"a","parts":[${part(n)}]}}`;
    const event = notificationEvent({ body, sequence: 1n });
    expect(JSON.stringify(event?.payload.value)).toContain(`"n":"${n}"`);
  });
});

/** Returns JSON without one of its characters. */
function spoil(json: string): string {
  const at = Math.floor(json.length / 2);
  return json.slice(0, at) + json.slice(at + 1);
}

/** Has a number whose digits would be lost as a string of them. */
function digitsOrNumber(
  _name: string,
  value: unknown,
  context?: { readonly source?: string },
): unknown {
  const { source = "" } = context ?? {};
  return typeof value === "number" && !isExactNumber(source) ? source : value;
}

function parsed(text: string): Json {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const [HIGH, LOW] = ["\ud83d", "\ude00"];
const PIECES: readonly (readonly [string, readonly string[], string])[] = [
  ["split over two pieces", [`a${HIGH}`, `${LOW}b`], "a😀b"],
  ["in a piece of its own", ["a", HIGH, LOW, "b"], "a😀b"],
  ["without its other half", [`a${HIGH}`, "b"], "a\ufffdb"],
  ["at the end", ["a", HIGH], "a\ufffd"],
  ["that begins with its second half", [`a${LOW}b`], "a\ufffdb"],
];

describe("B3: a character of an agent", () => {
  const agent = (events: readonly AgentEvent[]): Agent => ({
    about: { name: "Own", description: "Says pieces." },
    open: () => ({
      createExecutor: () => ({
        execute: async function* (): AsyncIterable<AgentEvent> {
          yield* events;
        },
      }),
    }),
  });

  it.each(PIECES)("%s is whole, or U+FFFD", async (_how, pieces, whole) => {
    await using server = await createServer({
      workspace: process.cwd(),
      agents: {
        own: agent(pieces.map((value) => ({ case: "text", value }))),
      },
    });
    const bindings = bindingsOf(server.url, {
      authorization: `Bearer ${server.token}`,
    });
    for (const binding of bindings) {
      const sent = {
        messageId: crypto.randomUUID(),
        role: "ROLE_USER",
        parts: [{ text: "x" }],
      };
      const { result } = await binding.call("SendMessage", { message: sent });
      const [, said] = result.task.history;
      expect(said.parts.map(({ text }: Json) => text).join("")).toBe(whole);
      const { elements } = await binding.stream("SendStreamingMessage", {
        message: { ...sent, messageId: crypto.randomUUID() },
      });
      let heard = "";
      for await (const element of elements) {
        const text = JSON.stringify(element);
        expect(text).not.toMatch(/\\ud[89a-f]/);
        const { statusUpdate } = element.result ?? element;
        heard += statusUpdate?.status.message?.parts[0]?.text ?? "";
      }
      expect(heard).toBe(whole);
    }
  });

  it.each(PIECES)(
    "%s of a thought is whole, or U+FFFD",
    async (_how, pieces, whole) => {
      const thoughts = pieces.map((description): AgentEvent => {
        const value = create(AgentThoughtSchema, { description });
        return { case: "thought", value };
      });
      await using server = await createServer({
        workspace: process.cwd(),
        agents: { own: agent(thoughts) },
      });
      const client = clientOf(server);
      const message = textMessage(crypto.randomUUID(), "x");
      const limit = AbortSignal.timeout(60_000);
      let thought = "";
      for await (const { payload } of streamMessage(
        client,
        { message },
        limit,
      )) {
        if (payload.case === "thought") thought += payload.value.description;
      }
      expect(thought).toBe(whole);
    },
  );
});
