import type { McpPrompt, Tool } from "@devtool/coding-agent/tool";
import type { McpServers } from "@devtool/mcp/testing";
import fc from "fast-check";
import { expect, it } from "vitest";
import { DEPTH, roundsOf, seedOf } from "../depth.ts";
import { type Mutant, mutantsOf, write } from "./mutants.ts";
import {
  type HttpAnswer,
  type Peer,
  type Script,
  startPeer,
  type Transport,
} from "./scripted-peer.ts";
import {
  errorOf,
  type PlayedCall,
  play,
  serversOf,
  textOf,
  toolNamed,
} from "./servers.ts";

// One odd element affects nothing else, at every reader of what an MCP server
// sends: its lists, contents, messages, questions, notifications, handshake and
// HTTP. A round plays this many mutants of a class.
const MUTANTS = 25;
const ROUNDS = roundsOf("DEVTOOL_MCP_ROUNDS", { quick: 1, ci: 1, deep: 400 });
const SEED = seedOf();
/** Less than any wait for an answer that does not come, in milliseconds. */
const SOON_MS = 20_000;

const signal = AbortSignal.timeout(3_600_000);
const GOOD = { name: "good", inputSchema: { type: "object" } };
const READS = { uri: "r:all", name: "all" };
const HANDSHAKE = {
  protocolVersion: "2025-06-18",
  capabilities: {
    tools: { listChanged: true },
    prompts: { listChanged: true },
    resources: { listChanged: true, subscribe: true },
    logging: {},
    completions: {},
    experimental: { x: { y: 1 } },
  },
  serverInfo: { name: "odd", version: "1", title: "T" },
  instructions: "Use it well.",
  _meta: { a: 1 },
};

const DISCOVERED = {
  resultType: "complete",
  supportedVersions: ["2026-07-28", "2025-06-18"],
  capabilities: HANDSHAKE.capabilities,
  instructions: "Use it well.",
  ttlMs: 1000,
  cacheScope: "private",
  _meta: { "io.modelcontextprotocol/serverInfo": HANDSHAKE.serverInfo, a: 1 },
};

/** The answers of a server without oddities, by methods. */
const PLAIN: Readonly<Record<string, object>> = {
  initialize: HANDSHAKE,
  "tools/list": { tools: [GOOD] },
  "prompts/list": { prompts: [{ name: "p" }] },
  "resources/list": { resources: [READS] },
  "tools/call": { content: [{ type: "text", text: "fine" }] },
  ping: {},
};

const answerOf = (result: unknown): string =>
  write({ jsonrpc: "2.0", id: "@@ID@@", result });

const REFUSAL = write({
  jsonrpc: "2.0",
  id: "@@ID@@",
  error: { code: -32601, message: "no such method" },
});

const PING = write({ jsonrpc: "2.0", id: "p", method: "ping" });

/** Answers a request as it is plain, or as these say. */
function scriptOf(answers: Readonly<Record<string, Script>>): Script {
  return (asked) => {
    const own = answers[asked.method];
    if (own) return own(asked);
    const result = PLAIN[asked.method];
    return result ? answerOf(result) : REFUSAL;
  };
}

/** The protocol with a handshake, or that of 2026. */
type Era = "handshake" | "discovery";

/** The answers of a server of 2026 to what it is asked first. */
const DISCOVERING: Readonly<Record<string, Script>> = {
  "server/discover": () => answerOf(DISCOVERED),
  // The answer ends the subscription.
  "subscriptions/listen": ({ send }) => {
    send(
      write({
        jsonrpc: "2.0",
        method: "notifications/subscriptions/acknowledged",
        params: {
          notifications: { toolsListChanged: true },
          _meta: { "io.modelcontextprotocol/subscriptionId": "@@ID@@" },
        },
      }),
    );
    return new Promise(() => {});
  },
};

/** Servers with a peer whose script can change. */
interface Session {
  readonly era: Era;
  readonly peer: Peer;
  readonly servers: McpServers;
  readonly good: Tool;
  readonly reader: Tool;
  readonly prompt: McpPrompt;
  readonly notices: readonly string[];
}

/** What a call gave: its text, or the message of its error. */
function said(played: PlayedCall): string {
  return played.result.case === "error"
    ? errorOf(played).message
    : textOf(played);
}

/** Calls the tool "good" with a script, within the time. */
async function call(
  { peer, good }: Session,
  answer: Script,
  answerQuestion?: Parameters<typeof play>[3],
): Promise<PlayedCall & { readonly text: string }> {
  peer.script = scriptOf({ "tools/call": answer });
  const startMs = performance.now();
  const played = await play(good, {}, signal, answerQuestion);
  expect(performance.now() - startMs).toBeLessThan(SOON_MS);
  const text = said(played);
  assertClean(text);
  return { ...played, text };
}

/** What neither a person nor a model is to see. */
const DUMP =
  /invalid_(type|union|value)|"code":|ZodError|call stack|\[object Object\]/;

function assertClean(...texts: readonly string[]): void {
  for (const text of texts) {
    expect(text.isWellFormed(), JSON.stringify(text)).toBe(true);
    expect(text).not.toMatch(DUMP);
  }
}

/** Has the lists read anew, with other answers. */
async function listAnew(
  { peer, servers, reader }: Session,
  answers: Readonly<Record<string, Script>>,
): Promise<string> {
  peer.script = scriptOf({
    "resources/read": async ({ send, ask }) => {
      for (const list of ["tools", "prompts", "resources"]) {
        const method = `notifications/${list}/list_changed`;
        send(write({ jsonrpc: "2.0", method }));
      }
      await ask(PING, "p");
      return answerOf({ contents: [] });
    },
  });
  await play(reader, { server: "odd", uri: "r:all" }, signal);
  peer.script = scriptOf(answers);
  await servers.tools(signal);
  await servers.prompts(signal);
  const [status] = servers.status();
  expect(status?.state).toBe("ready");
  const told = (status?.leftOut ?? []).join("\n");
  assertClean(told);
  return told;
}

/** A class of what a server sends. */
interface Row {
  readonly name: string;
  readonly mutants: fc.Arbitrary<Mutant>;
  /** Default: all. */
  readonly transports?: readonly Transport[];
  /** Default: a handshake. */
  readonly era?: Era;
  /** Plays mutants over a session, and expects what must hold. */
  readonly play: (
    session: Session,
    mutants: readonly Mutant[],
  ) => Promise<void>;
}

/** A row whose mutants are played one after the other. */
const each =
  (one: (session: Session, mutant: Mutant) => Promise<void>): Row["play"] =>
  async (session, mutants) => {
    for (const mutant of mutants) await one(session, mutant);
  };

/** The items of a list, mutated between two that are good. */
function listRow(
  list: "tools" | "prompts" | "resources",
  base: Readonly<Record<string, unknown>>,
  key: "name" | "uri",
): Row {
  const noun = list.slice(0, -1);
  return {
    name: `an item of ${list}`,
    mutants: mutantsOf([base]),
    play: async (session, mutants) => {
      const item = (id: string) => ({ ...base, [key]: id, name: id });
      const items = mutants.flatMap(({ value, path }, at) => {
        const own =
          path[1] === key || path.length === 1 ? {} : { [key]: `bad${at}` };
        return Object(value).map((one: unknown) =>
          path.length === 1 ? one : { ...Object(one), ...own },
        );
      });
      const all = [item("first"), ...items, item("last")];
      const plain = list === "tools" ? [GOOD] : [];
      const told = await listAnew(session, {
        [`${list}/list`]: () => answerOf({ [list]: [...plain, ...all] }),
      });
      const names = await namesOf(session.servers, list);
      assertClean(...names);
      expect(names, told).toEqual(expect.arrayContaining(["first", "last"]));
      for (const [at, { path, change }] of mutants.entries()) {
        if (path.length === 1 || path[1] === key) continue;
        const name = `bad${at}`;
        const isUsed = names.includes(name);
        expect(
          isUsed || told.includes(`${noun} "${name}" is left out: `),
          `${path} ${change}: ${told}`,
        ).toBe(true);
      }
      const others = all.filter((one) => !/object|DEEP/.test(String(one)));
      const sentences = told.split("is left out: it is ").length - 1;
      expect(sentences, told).toBeGreaterThanOrEqual(others.length);
    },
  };
}

async function namesOf(
  servers: McpServers,
  list: "tools" | "prompts" | "resources",
): Promise<string[]> {
  switch (list) {
    case "tools": {
      const tools = await servers.tools(signal);
      return tools.flatMap(({ declaration: { name, description } }) => {
        assertClean(description);
        return name.startsWith("mcp__odd__") ? [name.slice(10)] : [];
      });
    }
    case "prompts": {
      const prompts = await servers.prompts(signal);
      return prompts.map(({ name, description, arguments: args }) => {
        assertClean(description, ...args.map((one) => one.name));
        return name;
      });
    }
    case "resources":
      return (await servers.resources(signal)).map(({ uri, name }) => {
        assertClean(name);
        return uri;
      });
    default:
      return list satisfies never;
  }
}

const BLOCKS = [
  { type: "text", text: "words", annotations: { priority: 1 } },
  { type: "image", data: "aGk=", mimeType: "image/png" },
  { type: "audio", data: "aGk=", mimeType: "audio/wav", _meta: { a: 1 } },
  {
    type: "resource",
    resource: { uri: "r:text", mimeType: "text/plain", text: "inner" },
  },
  {
    type: "resource",
    resource: { uri: "r:blob", mimeType: "image/png", blob: "aGk=" },
  },
  {
    type: "resource_link",
    uri: "r:link",
    name: "link",
    title: "Link",
    description: "d",
    mimeType: "text/plain",
    size: 5,
  },
];

/** Puts marks between elements, of which each must be seen in its order. */
function withMarks<T>(
  mutants: readonly Mutant[],
  markOf: (at: number) => T,
): unknown[] {
  return [
    markOf(0),
    ...mutants.flatMap(({ value }, at) => [
      ...Object(value).map((one: unknown) => one),
      markOf(at + 1),
    ]),
  ];
}

/** Expects all marks in a text, and something for each mutant between them. */
function assertMarked(text: string, mutants: readonly Mutant[]): void {
  assertClean(text);
  for (const [at, { value, path, change }] of mutants.entries()) {
    const [, between] =
      new RegExp(`mark ${at}\\b(.*)mark ${at + 1}\\b`, "s").exec(text) ?? [];
    expect(between, `${path} ${change}: ${text.slice(0, 2000)}`).toBeDefined();
    if (Object(value).length === 0 || change === '""') continue;
    expect(between?.trim(), `${path} ${change}`).not.toBe("");
  }
}

const markBlock = (at: number) => ({ type: "text", text: `mark ${at}` });

const blockRow: Row = {
  name: "a block of a result",
  mutants: mutantsOf(...BLOCKS.map((block) => [block])),
  play: async (session, mutants) => {
    const content = withMarks(mutants, markBlock);
    const { text } = await call(session, () => answerOf({ content }));
    assertMarked(text, mutants);
  },
};

const DATA = { keep: "mark 1", odd: { list: [5, "x", { a: true }], n: 7 } };

const dataRow: Row = {
  name: "the data of a result",
  mutants: mutantsOf({ content: [markBlock(0)], structuredContent: DATA }),
  play: each(async (session, { value, path, change }) => {
    const { text } = await call(session, () => answerOf(value));
    const [first, second] = path;
    const what = `${path} ${change}: ${text}`;
    if (first !== "content") expect(text, what).toContain("mark 0");
    if (first !== "structuredContent" || (second && second !== "keep")) {
      expect(text, what).toContain("mark 1");
    }
    if (change.includes("9007199254740993") && first !== "content") {
      expect(text, what).toContain("9007199254740993");
    }
    expect(text, what).not.toBe("");
  }),
};

const frameRow: Row = {
  name: "the answer to a call",
  mutants: mutantsOf({
    jsonrpc: "2.0",
    id: "@@ID@@",
    result: {
      content: [{ type: "text", text: "fine" }],
      isError: false,
      _meta: { a: 1 },
    },
  }),
  play: each(async (session, { value, path, change }) => {
    // A number may be the id of another request, which waits for its answer.
    if (path[0] === "id" && isNumberLike(change)) return;
    const { text } = await call(session, () => write(value));
    const what = `${path} ${change}`;
    const isHurt = path[0] === "result" && path[1] !== "isError";
    if (!isHurt || path[1] === "_meta") expect(text, what).toBe("fine");
    // An object without content is an answer without any.
    const isEmpty = /^(""|\[\]|null|remove|\{.*|"@@DEEP@@")$/.test(change);
    if (!isEmpty) expect(text, what).not.toBe("");
  }),
};

const messageRow: Row = {
  name: "a message of a prompt",
  mutants: mutantsOf(...BLOCKS.map((content) => [{ role: "user", content }])),
  play: async (session, mutants) => {
    const messages = withMarks(mutants, (at) => ({
      role: "assistant",
      content: markBlock(at),
    }));
    assertMarked(await promptText(session, { messages }), mutants);
  },
};

async function promptText(
  { peer, prompt }: Session,
  result: unknown,
): Promise<string> {
  peer.script = scriptOf({ "prompts/get": () => answerOf(result) });
  const got = await prompt.get({}, signal);
  return got.map(({ text }) => text).join("\n");
}

const promptRow: Row = {
  name: "the answer with a prompt",
  mutants: mutantsOf({
    description: "d",
    messages: [
      { role: "user", content: markBlock(0) },
      { role: "assistant", content: markBlock(1) },
    ],
    _meta: { a: 1 },
  }),
  play: each(async (session, { value, path, change }) => {
    const text = await promptText(session, value);
    assertClean(text);
    for (const [at, mark] of ["mark 0", "mark 1"].entries()) {
      const isHurt =
        path[0] === "messages" &&
        (path[1] === undefined || path[1] === String(at));
      if (!isHurt) expect(text, `${path} ${change}`).toContain(mark);
    }
    if (!/\[\]|""|remove|null/.test(change)) {
      expect(text, `${path} ${change}`).not.toBe("");
    }
  }),
};

const contentsRow: Row = {
  name: "a content of a resource",
  mutants: mutantsOf(
    [{ uri: "r:a", mimeType: "text/plain", text: "words", _meta: { a: 1 } }],
    [{ uri: "r:b", mimeType: "image/png", blob: "aGk=" }],
  ),
  play: async (session, mutants) => {
    const contents = withMarks(mutants, (at) => ({
      uri: "r:m",
      text: `mark ${at}`,
    }));
    session.peer.script = scriptOf({
      "resources/read": () => answerOf({ contents }),
    });
    const args = { server: "odd", uri: "r:all" };
    assertMarked(said(await play(session.reader, args, signal)), mutants);
  },
};

const NOTIFICATIONS = [
  {
    method: "notifications/progress",
    params: { progressToken: "@@TOKEN@@", progress: 1, total: 3, message: "m" },
  },
  {
    method: "notifications/message",
    params: { level: "info", logger: "l", data: { a: 1 } },
  },
  { method: "notifications/resources/updated", params: { uri: "r:all" } },
  { method: "notifications/cancelled", params: { requestId: 99, reason: "r" } },
  { method: "notifications/prompts/list_changed", params: { _meta: {} } },
].map((message) => ({ jsonrpc: "2.0", ...message }));

const notificationRow: Row = {
  name: "a notification",
  mutants: mutantsOf(...NOTIFICATIONS),
  play: async (session, mutants) => {
    const mark = (message: string) => ({
      jsonrpc: "2.0",
      method: "notifications/progress",
      params: { progressToken: "@@TOKEN@@", progress: 2, message },
    });
    const { text, events } = await call(session, async (asked) => {
      const token = JSON.stringify(Object(asked.params._meta).progressToken);
      for (const [at, { value }] of mutants.entries()) {
        for (const message of [value, mark(`mark ${at}`)]) {
          asked.send(write(message).replaceAll('"@@TOKEN@@"', token));
          await asked.ask(PING, "p");
        }
      }
      return answerOf(PLAIN["tools/call"]);
    });
    expect(text).toBe("fine");
    const shown = events.flatMap((event) =>
      event.case === "progress" ? [event.value.text] : [],
    );
    assertClean(...shown);
    let last = -1;
    for (const [at, { value, path, change }] of mutants.entries()) {
      const what = `${path} ${change}`;
      const next = shown.indexOf(`mark ${at}`);
      expect(next, what).toBeGreaterThan(last);
      const [first, field = ""] = path;
      const isKept =
        Object(value).method === "notifications/progress" &&
        (first === "jsonrpc" || ["progress", "total"].includes(field));
      if (isKept) expect(shown.slice(last + 1, next), what).toEqual(["m"]);
      last = next;
    }
  },
};

const changedRow: Row = {
  name: "the news of a list that changed",
  mutants: mutantsOf({
    jsonrpc: "2.0",
    method: "notifications/tools/list_changed",
    params: { _meta: { a: 1 } },
  }),
  play: each(async (session, { value, path, change }) => {
    if (path[0] === "method") return;
    await call(session, async ({ send, ask }) => {
      send(write(value));
      await ask(PING, "p");
      return answerOf(PLAIN["tools/call"]);
    });
    const name = `new${Math.random()}`.replace("0.", "");
    session.peer.script = scriptOf({
      "tools/list": () => answerOf({ tools: [GOOD, { ...GOOD, name }] }),
    });
    const names = await namesOf(session.servers, "tools");
    expect(names, `${path} ${change}`).toContain(name);
  }),
};

const FORM = {
  mode: "form",
  message: "mark message",
  requestedSchema: {
    type: "object",
    properties: {
      first: { type: "string", title: "First", description: "d", minLength: 1 },
      second: { type: "integer", minimum: 1, default: 3 },
      third: { type: "string", enum: ["a", "b"], enumNames: ["A", "B"] },
      fourth: { type: "boolean", default: true },
      fifth: {
        type: "array",
        items: { type: "string", enum: ["c", "d"] },
        minItems: 1,
      },
    },
    required: ["first"],
  },
  _meta: { a: 1 },
};
const PAGE = {
  mode: "url",
  message: "mark message",
  url: "https://example.org/x",
  elicitationId: "e",
};

/** An answer that asks, as the protocol of 2026 has it. */
const asksFor = (inputRequests: object): string =>
  answerOf({ resultType: "input_required", inputRequests });

/** Asks the client while a call runs; what it showed, and what it answered. */
async function askClient(
  session: Session,
  method: string,
  params: unknown,
): Promise<{ readonly shown: string; readonly answer: object }> {
  let shown = "";
  let answer: object = {};
  const { text } = await call(
    session,
    async ({ ask, params: { inputResponses } }) => {
      if (session.era === "handshake") {
        const asked = write({ jsonrpc: "2.0", id: "q", method, params });
        answer = await ask(asked, "q");
      } else if (inputResponses === undefined) {
        return asksFor({ q: { method, params } });
      } else {
        answer = { result: Object(inputResponses).q };
      }
      return answerOf(PLAIN["tools/call"]);
    },
    ({ details, description, options }) => {
      const detail =
        details.case === "genericDetails" ? details.value.description : "";
      shown = [description, detail, ...options.map(({ name }) => name)].join(
        "\n",
      );
      return { optionId: "proceed_once", text: '{"first":"1"}' };
    },
  );
  // An answer that only asks what cannot be asked has no other end.
  const refused = /^invalid answer: request "q" is left out: /;
  const isRefused = session.era === "discovery" && refused.test(text);
  if (!isRefused) expect(text).toBe("fine");
  assertClean(shown, JSON.stringify(answer).replace('"code":', ""));
  if ("error" in answer) {
    expect(JSON.stringify(answer).length).toBeLessThan(400);
  }
  return { shown, answer };
}

const questionRow: Row = {
  name: "a question of a server",
  mutants: mutantsOf(FORM, PAGE),
  play: each(async (session, { value, path, change }) => {
    const what = `${path} ${change}`;
    const { shown, answer } = await askClient(
      session,
      "elicitation/create",
      value,
    );
    if (path[0] === "requestedSchema" && path.length < 3) return;
    if (["message", "url", "mode"].includes(path[0] ?? "")) return;
    expect(shown, `${what} ${JSON.stringify(answer)}`).toContain(
      "mark message",
    );
    if (!("requestedSchema" in Object(value))) return;
    for (const field of Object.keys(FORM.requestedSchema.properties)) {
      if (path[2] === field && change === "remove") continue;
      expect(shown, what).toContain(field);
    }
  }),
};

const SAMPLING = {
  messages: [
    { role: "user", content: markBlock(0) },
    { role: "assistant", content: BLOCKS[1] },
    { role: "user", content: [markBlock(1), BLOCKS[3]] },
  ],
  maxTokens: 100,
  systemPrompt: "mark system",
  temperature: 1,
  stopSequences: ["s"],
  includeContext: "none",
  metadata: { a: 1 },
  modelPreferences: { hints: [{ name: "m" }], costPriority: 1 },
};

const samplingRow: Row = {
  name: "a request to the model",
  mutants: mutantsOf(SAMPLING),
  play: each(async (session, { value, path, change }) => {
    const { shown, answer } = await askClient(
      session,
      "sampling/createMessage",
      value,
    );
    const what = `${path} ${change}: ${JSON.stringify(answer)}`;
    const isSystem = path[0] === "systemPrompt";
    expect(isSystem || shown.includes("mark system"), what).toBe(true);
    for (const [at, mark] of [
      ["0", "mark 0"],
      ["2", "mark 1"],
    ] as const) {
      const isHurt =
        path[0] === "messages" && (path[1] === undefined || path[1] === at);
      if (!isHurt) expect(shown, what).toContain(mark);
    }
    const isRoot = path[0] === "messages" && path.length === 1;
    if (!isRoot) expect(answer, what).toHaveProperty("result");
  }),
};

/** The rows of what a server asks, in the protocol of 2026. */
const asDiscovered = (row: Row): Row => ({
  ...row,
  name: `${row.name}, in an answer`,
  era: "discovery",
  transports: ["stdio", "http"],
});

const ASKED = {
  resultType: "input_required",
  inputRequests: {
    one: { method: "elicitation/create", params: FORM },
    two: { method: "elicitation/create", params: { ...FORM, message: "two" } },
  },
  requestState: "state",
  _meta: { a: 1 },
};

/** Whether a value is a text, and does not stand for other JSON. */
const isText = (value: unknown): boolean =>
  typeof value === "string" && !value.startsWith("@@");

const inputRow: Row = asDiscovered({
  name: "what a call needs",
  mutants: mutantsOf(ASKED),
  play: each(async (session, { value, path, change }) => {
    const shown: string[] = [];
    let answers: object = {};
    const { text } = await call(
      session,
      ({ params: { inputResponses, requestState } }) => {
        const isFirst =
          inputResponses === undefined && requestState === undefined;
        if (isFirst) return answerOf(value);
        answers = Object(inputResponses);
        return answerOf({ ...PLAIN["tools/call"], resultType: null });
      },
      ({ details }) => {
        const { description = "" } = Object(details.value);
        shown.push(description);
        const first = description.includes("asks: two") ? "2" : "1";
        return { optionId: "proceed_once", text: JSON.stringify({ first }) };
      },
    );
    const what = `${path} ${change}: ${text}`;
    assertClean(...shown);
    expect(text, what).not.toBe("");
    const [field, key] = path;
    if (field === "resultType" && isText(Object(value).resultType)) return;
    if (field === "inputRequests" && key === undefined) return;
    expect(text, what).toBe("fine");
    for (const [name, first] of [
      ["one", "1"],
      ["two", "2"],
    ] as const) {
      if (key === name) continue;
      const content = expect.objectContaining({ first });
      const answer = { action: "accept", content };
      expect(Reflect.get(answers, name), what).toEqual(answer);
    }
  }),
});

const resultRow: Row = asDiscovered({
  name: "the kind of an answer",
  mutants: mutantsOf({
    resultType: "complete",
    content: [{ type: "text", text: "fine" }],
    ttlMs: 5,
    cacheScope: "public",
    _meta: { a: 1 },
  }),
  play: each(async (session, { value, path, change }) => {
    const { text } = await call(session, () => answerOf(value));
    const what = `${path} ${change}`;
    // Another kind of answer is none that this client knows.
    const isOther =
      path[0] === "resultType" && isText(Object(value).resultType);
    if (isOther) expect(text, what).toMatch(/result ?type|input_required/i);
    else if (path[0] !== "content") expect(text, what).toBe("fine");
  }),
});

const discoverRow: Row = asDiscovered({
  name: "what is discovered",
  mutants: mutantsOf(DISCOVERED),
  play: each(async ({ peer, servers }, { value, path, change }) => {
    let handshakes = 0;
    peer.script = scriptOf({
      ...DISCOVERING,
      "server/discover": () => answerOf(value),
      initialize: () => {
        handshakes++;
        return answerOf(HANDSHAKE);
      },
    });
    const [status] = await servers.refresh(signal);
    const what = `${path} ${change} ${status?.reason}`;
    assertClean(status?.reason ?? "", ...(status?.leftOut ?? []));
    expect(status?.state, what).toBe("ready");
    const [first = "", second] = path;
    const isWhole = second === undefined;
    const isGone = ["supportedVersions", "capabilities"].includes(first);
    if (isGone && isWhole) return;
    if (first !== "supportedVersions") expect(handshakes, what).toBe(0);
    if (first === "capabilities" && second === "tools") return;
    expect(await namesOf(servers, "tools"), what).toContain("good");
  }),
});

const handshakeRow: Row = {
  name: "the handshake",
  mutants: mutantsOf(HANDSHAKE),
  play: each(async ({ peer, servers }, { value, path, change }) => {
    const what = `${path} ${change}`;
    peer.script = scriptOf({ initialize: () => answerOf(value) });
    const [status] = await servers.refresh(signal);
    const told = status?.leftOut?.join("\n") ?? "";
    const reason = status?.reason ?? "";
    assertClean(reason, told);
    const [first = "", second] = path;
    const isRequired =
      ["protocolVersion", "serverInfo", "capabilities"].includes(first) &&
      (second === undefined || ["name", "version"].includes(second));
    if (isRequired && status?.state !== "ready") {
      expect(status?.state, what).toBe("failed");
      expect(reason, what).toMatch(/is missing|offers protocol|expected/);
      return;
    }
    expect(status?.state, `${what} ${reason}`).toBe("ready");
    const isGone =
      first === "capabilities" && (isRequired || second === "tools");
    if (isGone) return;
    expect(await namesOf(servers, "tools"), what).toContain("good");
  }),
};

const pagesRow: Row = {
  name: "the pages of a list",
  mutants: mutantsOf(
    ...["one", "two"].map((name, at) => ({
      jsonrpc: "2.0",
      id: "@@ID@@",
      result: {
        tools: [{ ...GOOD, name }],
        ...(at === 0 && { nextCursor: "next" }),
        _meta: { a: 1 },
      },
    })),
  ),
  play: each(async (session, { value, path, change }) => {
    if (path[0] === "id" && isNumberLike(change)) return;
    const what = `${path} ${change}`;
    const isFirst =
      JSON.stringify(value).includes("nextCursor") || path[1] === "nextCursor";
    const other = { tools: [{ ...GOOD, name: isFirst ? "two" : "one" }] };
    const told = await listAnew(session, {
      "tools/list": ({ params }) =>
        isFirst === (params.cursor === undefined)
          ? write(value)
          : answerOf(isFirst ? other : { ...other, nextCursor: "next" }),
    });
    const names = await namesOf(session.servers, "tools");
    const isLast = change === "remove" || change === "null";
    if (isFirst && !(isLast && path[1] === "nextCursor")) {
      const isTold = /left out|cannot be listed|list of tools/.test(told);
      expect(names.includes("two") || isTold, `${what} ${told}`).toBe(true);
    }
    if (!isFirst) expect(names, what).toContain("one");
    const isHurt = path[0] === "result" && path[1] !== "_meta";
    const all = isHurt ? [] : ["one", "two"];
    expect(names, what).toEqual(expect.arrayContaining(all));
  }),
};

/** Whether a change makes an id that another request may have. */
function isNumberLike(change: string): boolean {
  return /^"?(-?\d|@@[19])/.test(change);
}

const ANSWER = `data: ${answerOf(PLAIN["tools/call"])}\n\n`;
const PIECES = [
  ": comment\n\n",
  "retry: 50\n\n",
  "event: ping\ndata: {}\n\n",
  `event: message\ndata: ${write(NOTIFICATIONS[1])}\n\n`,
  ANSWER,
];
const ODD_PIECES = [
  "",
  "\n",
  "\r\n\r",
  "\0\n\n",
  "data\n\n",
  "data:\n\n",
  "data: {\n\n",
  "data: 5\n\n",
  "id: 7\ndata:\n\n",
  "data: [null]\n\n",
  'data: {"jsonrpc":"2.0","id":77,"result":{}}\n\n',
  'data: {"jsonrpc":"2.0",\ndata: "method":"x"}\n\n',
  "data: <html>\n\n",
  "event\ndata: x\n\n",
  "retry: soon\n\n",
  "unknown: x\n\n",
  `x${"y".repeat(9000)}\n`,
  'event: error\ndata: {"message":"no"}\n\n',
];
const TYPES = [
  "application/json",
  "Application/JSON; charset=utf-8",
  "application/json-rpc",
  "application/json;",
  "text/json",
  "text/plain",
  "text/html",
  "application/octet-stream",
  "",
  "x",
  "text/event-stream",
  "Text/Event-Stream;charset=UTF-8",
];
const STATUSES = [
  200, 201, 202, 203, 204, 205, 206, 299, 300, 301, 304, 307, 400, 401, 403,
  404, 405, 406, 410, 413, 415, 418, 422, 429, 500, 501, 502, 503, 504, 599,
];
const BODIES = [
  answerOf(PLAIN["tools/call"]),
  "",
  " ",
  "<html><body>no</body></html>",
  "[]",
  "5",
  '{"error":{"message":"words"}}',
  "{",
  `[${answerOf(PLAIN["tools/call"])}, 5]`,
];

/** An answer over HTTP as a mutant: of a kind, and whether it is whole. */
const httpMutant = (
  change: string,
  isWhole: boolean,
  value: HttpAnswer,
): Mutant => ({ value, path: [String(isWhole)], change });

const jsonMutants = fc
  .record({
    status: fc.constantFrom(200, 200, ...STATUSES),
    type: fc.constantFrom(...TYPES),
    body: fc.constantFrom(...BODIES),
    session: fc.constantFrom("S1", "", "S2", "\u00e9", "x".repeat(4000)),
  })
  .map(({ status, type, body, session }) =>
    httpMutant(
      `${status} ${type} ${body}`,
      status < 300 &&
        ![204, 205].includes(status) &&
        body.includes("fine") &&
        !/event/i.test(type),
      {
        status,
        headers: { "content-type": type, "mcp-session-id": session },
        body,
      },
    ),
  );

const pieceMutants = fc
  .record({
    at: fc.nat(PIECES.length - 1),
    odd: fc.constantFrom(...ODD_PIECES),
    isInserted: fc.boolean(),
    isSplit: fc.boolean(),
  })
  .map(({ at, odd, isInserted, isSplit }) => {
    const pieces = [...PIECES];
    pieces.splice(at, isInserted ? 0 : 1, odd);
    const isWhole =
      pieces.includes(ANSWER) && (odd.endsWith("\n\n") || !isInserted);
    const body = isSplit ? pieces.join("").split("") : pieces;
    return httpMutant(`${at} ${JSON.stringify(odd)}`, isWhole, {
      status: 200,
      headers: { "content-type": "text/event-stream" },
      body,
    });
  });

/** A row of answers over HTTP, each of which is followed by a plain one. */
const httpRow = (
  name: string,
  mutants: fc.Arbitrary<Mutant>,
  transports: readonly Transport[],
): Row => ({
  name,
  mutants,
  transports,
  play: each(async (session, { value, path: [isWhole], change }) => {
    let calls = 0;
    const { text } = await call(session, () =>
      calls++ === 0 ? (value as HttpAnswer) : answerOf(PLAIN["tools/call"]),
    );
    expect(text, change).not.toBe("");
    if (isWhole === "true") expect(text, change).toBe("fine");
    expect(text.length).toBeLessThan(400);
    const next = await call(session, () => answerOf(PLAIN["tools/call"]));
    expect(next.text, change).toBe("fine");
  }),
});

const ROWS: readonly Row[] = [
  listRow(
    "tools",
    {
      name: "bad",
      title: "t",
      description: "d",
      inputSchema: {
        type: "object",
        properties: { a: { type: "string", enum: ["x"] } },
        required: ["a"],
      },
      outputSchema: { type: "object" },
      annotations: { title: "t", readOnlyHint: true },
      execution: { taskSupport: "optional" },
      icons: [{ src: "https://example.org/i" }],
      _meta: { a: 1 },
    },
    "name",
  ),
  listRow(
    "prompts",
    {
      name: "bad",
      title: "t",
      description: "d",
      arguments: [{ name: "a", description: "d", required: true }],
      icons: [{ src: "https://example.org/i" }],
      _meta: { a: 1 },
    },
    "name",
  ),
  listRow(
    "resources",
    {
      uri: "r:bad",
      name: "n",
      title: "t",
      description: "d",
      mimeType: "text/plain",
      size: 5,
      annotations: { audience: ["user"], priority: 1, lastModified: "x" },
    },
    "uri",
  ),
  blockRow,
  dataRow,
  frameRow,
  messageRow,
  promptRow,
  contentsRow,
  notificationRow,
  changedRow,
  questionRow,
  samplingRow,
  asDiscovered(frameRow),
  asDiscovered(questionRow),
  asDiscovered(samplingRow),
  inputRow,
  resultRow,
  discoverRow,
  pagesRow,
  handshakeRow,
  httpRow("an answer of HTTP", jsonMutants, ["http"]),
  httpRow("a piece of a stream", pieceMutants, ["http"]),
  httpRow(
    "a piece of the one stream",
    pieceMutants.filter(({ path: [isWhole] }) => isWhole === "true"),
    ["sse"],
  ),
];

const TRANSPORTS: readonly Transport[] = ["stdio", "http", "sse"];

async function openSession(
  transport: Transport,
  era: Era,
): Promise<Session & AsyncDisposable> {
  const peer = await startPeer(transport);
  let nowMs = 0;
  const { servers, notices } = serversOf([peer.server], {
    // No progress is held back.
    now: () => (nowMs += 1000),
  });
  peer.script = scriptOf(era === "discovery" ? DISCOVERING : {});
  const tools = await servers.tools(signal);
  const [prompt] = await servers.prompts(signal);
  if (!prompt) throw new Error("there is no prompt");
  return {
    era,
    peer,
    servers,
    notices,
    good: toolNamed(tools, "good"),
    reader: toolNamed(tools, "read_mcp_resource"),
    prompt,
    [Symbol.asyncDispose]: async () => {
      await servers[Symbol.asyncDispose]();
      await peer[Symbol.asyncDispose]();
    },
  };
}

/** The rows over all transports, or each over one that the seed chooses. */
const PLAYED = ROWS.flatMap((row, at) => {
  const { transports = TRANSPORTS } = row;
  const chosen = (at + SEED) % transports.length;
  const rounds =
    DEPTH === "deep" ? Math.ceil(ROUNDS / transports.length) : ROUNDS;
  return transports
    .filter((_each, index) => DEPTH === "deep" || index === chosen)
    .map((transport) => ({ ...row, transport, rounds }));
});

it.each(PLAYED)(
  "one odd value affects nothing else, over $transport: $name",
  async ({ mutants, play, transport, rounds, era = "handshake" }) => {
    const drawn = fc.array(mutants, {
      minLength: MUTANTS,
      maxLength: MUTANTS,
    });
    await using session = await openSession(transport, era);
    await fc.assert(
      fc.asyncProperty(drawn, (some) => play(session, some)),
      { numRuns: rounds, seed: SEED, endOnFailure: true },
    );
    expect(session.notices.every((text) => text.isWellFormed())).toBe(true);
  },
  3_600_000,
);
