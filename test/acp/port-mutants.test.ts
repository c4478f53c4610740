import { createInterface } from "node:readline";
import { PassThrough } from "node:stream";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { serveAcp, stdioStream } from "@devtool/acp/port";
import { listOrEmpty, objectOrEmpty } from "@devtool/internal/json";
import { expect, it } from "vitest";
import { roundsOf, seedOf } from "../depth.ts";
import { generator } from "../json-mutants.ts";
import { mutantOf, textOf } from "../mutants.ts";
import {
  type AgentScript,
  MutantAgent,
  unpairedIn,
} from "./agent/mutant-agent.ts";
import { AcpWorld } from "./agent/world.ts";

const MUTANTS = roundsOf("DEVTOOL_ACP_PORT_MUTANTS", {
  quick: 100,
  ci: 200,
  deep: 10_000,
});
/** The number of editors that play at the same time: they mostly wait. */
const WORLDS = 8;
/** The words of a validator or of JavaScript, which do not help a user. */
const DUMP =
  /_errors|Zod|invalid_type|Invalid input|Cannot (read|destructure)|is not (a function|iterable)|undefined|\[object Object\]/;

/** What the editor sends: the parameters of its requests, and its answers. */
const sentIn = (cwd: string): Readonly<Record<string, JsonObject>> => ({
  initialize: {
    protocolVersion: 1,
    clientCapabilities: {
      fs: { readTextFile: true, writeTextFile: true },
      terminal: true,
      session: { notices: {} },
    },
    clientInfo: { name: "editor", version: "1" },
  },
  "session/new": {
    cwd,
    mcpServers: [
      {
        name: "stdioword",
        command: "true",
        args: ["argword"],
        env: [{ name: "VAR", value: "envword" }],
      },
      {
        type: "http",
        name: "httpword",
        url: "https://example.com/mcp",
        headers: [{ name: "X-A", value: "headerword" }],
      },
      {
        type: "sse",
        name: "sseword",
        url: "https://example.com/sse",
        headers: [],
      },
    ],
  },
  "session/set_mode": { modeId: "default" },
  "session/set_config_option": { configId: "model", value: "modelword" },
  "session/prompt": {
    prompt: [
      { type: "text", text: "textword" },
      { type: "image", mimeType: "image/png", data: "aGk=" },
      { type: "resource_link", name: "linkword", uri: "file:///tmp/openword" },
      {
        type: "resource",
        resource: { uri: "file:///tmp/resourceword", text: "insideword" },
      },
      {
        type: "resource",
        resource: { uri: "file:///tmp/blobword", blob: "aGk=" },
      },
    ],
  },
  "session/list": { cwd, cursor: null },
  "session/load": { cwd, mcpServers: [] },
  "session/resume": { cwd, mcpServers: [] },
  "session/close": {},
  "session/request_permission": {
    outcome: { outcome: "selected", optionId: "proceed_once" },
  },
  "fs/read_text_file": { content: "bufferword" },
});
const METHODS = Object.keys(sentIn(""));

const SCRIPT: AgentScript = {
  results: {
    initialize: {
      protocolVersion: 1,
      agentCapabilities: {
        promptCapabilities: { image: true, audio: true, embeddedContext: true },
        mcpCapabilities: { http: true, sse: true },
      },
    },
    "session/new": {
      sessionId: "s",
      models: {
        currentModelId: "otherword",
        availableModels: [{ modelId: "otherword" }, { modelId: "modelword" }],
      },
    },
    "session/prompt": { stopReason: "end_turn" },
  },
  calls: [
    [
      "session/request_permission",
      {
        toolCall: {
          toolCallId: "c1",
          title: "run it",
          kind: "execute",
          rawInput: { command: "ls -la" },
        },
        options: [
          { optionId: "yes", name: "Yes", kind: "allow_once" },
          { optionId: "no", name: "No", kind: "reject_once" },
        ],
      },
    ],
  ],
};

/** An editor that speaks JSON lines, and answers what it is asked. */
class Editor {
  readonly #input = new PassThrough();
  readonly #waiting = new Map<string, (message: JsonObject) => void>();
  readonly #answers: Readonly<Record<string, JsonValue>>;
  #id = 0;
  /** What the port has sent, in order. */
  readonly got: JsonObject[] = [];
  /** What the port has told its operator. */
  readonly logged: string[] = [];

  constructor(world: AcpWorld, answers: Readonly<Record<string, JsonValue>>) {
    this.#answers = answers;
    const output = new PassThrough();
    createInterface({ input: output }).on("line", (line) => this.#take(line));
    const agent = {
      name: "fake",
      version: "1",
      inputModes: [],
      hasExtension: true,
    };
    const { client, workspace } = world;
    void serveAcp(
      {
        stream: stdioStream(this.#input, output),
        models: ["modelword"],
        log: (text) => this.logged.push(text),
        connect: async () => ({ client, workspace, agent, isOwn: true }),
      },
      new AbortController().signal,
    );
  }

  /** Makes a request and returns the message that answers it. */
  async request(method: string, params: JsonValue): Promise<JsonObject> {
    const id = `e${++this.#id}`;
    const answered = new Promise<JsonObject>((resolve, reject) => {
      this.#waiting.set(id, resolve);
      const late = () => reject(new Error(`${method} has no answer`));
      setTimeout(late, 60_000).unref();
    });
    this.#send({ id, method, params });
    return await answered;
  }

  close(): void {
    this.#input.end();
  }

  #take(line: string): void {
    const message = objectOrEmpty(JSON.parse(line));
    this.got.push(message);
    const { id, method } = message;
    if (method === undefined) {
      const key = String(id);
      this.#waiting.get(key)?.(message);
      this.#waiting.delete(key);
    } else if (id !== undefined) {
      this.#send({ id, result: this.#answers[String(method)] ?? null });
    }
  }

  #send(message: JsonObject): void {
    this.#input.write(`${textOf({ jsonrpc: "2.0", ...message })}\n`);
  }
}

it(`an odd element of what an editor sends affects nothing else, and is reported: ${MUTANTS} mutants`, {
  timeout: 3_600_000,
}, async () => {
  const random = generator(seedOf());
  let left = MUTANTS;
  await Promise.all(
    Array.from({ length: WORLDS }, async () => {
      while (left > 0) {
        // Lists of sessions stay short.
        const count = Math.min(left, 25);
        left -= count;
        await playMany(count, random);
      }
    }),
  );
});

/** Plays mutants one after the other, with a server of their own. */
async function playMany(count: number, random: () => number): Promise<void> {
  const agents: MutantAgent[] = [];
  await using world = await new AcpWorld({
    command: async () => {
      const agent = new MutantAgent(SCRIPT);
      agents.push(agent);
      return agent;
    },
    clientMcpServers: "all",
  }).start();
  for (let played = 0; played < count; played++) {
    const at = METHODS[Math.floor(random() * METHODS.length)] ?? "";
    const { json, at: path } = mutantOf(
      sentIn(world.workspace)[at] ?? {},
      random,
    );
    agents.length = 0;
    const why = `${at} ${path}: ${JSON.stringify(json)}`;
    await play(world, agents, { at, json, why });
  }
}

interface Mutated {
  readonly at: string;
  readonly json: JsonObject;
  readonly why: string;
}

/** Plays a session with one odd element, and throws where more is lost. */
async function play(
  world: AcpWorld,
  agents: readonly MutantAgent[],
  { at, json, why }: Mutated,
): Promise<void> {
  const whole = sentIn(world.workspace);
  const sent: Record<string, JsonObject> = { ...whole, [at]: json };
  const start = {
    outcome: { outcome: "selected", optionId: "start" },
  };
  let isStarting = true;
  const editor = new Editor(world, {
    "fs/read_text_file": sent["fs/read_text_file"] ?? null,
    get "session/request_permission"(): JsonValue {
      if (!isStarting) return sent["session/request_permission"] ?? null;
      isStarting = false;
      return start;
    },
  });
  try {
    /** Makes a request; the odd one may be refused, and then the whole one is made. */
    const request = async (
      method: string,
      more: JsonObject = {},
    ): Promise<JsonObject> => {
      const params = { ...more, ...sent[method] };
      const answer = await editor.request(method, params);
      if (at !== method) expect(answer.error, why).toBeUndefined();
      if (!("error" in answer)) return objectOrEmpty(answer.result);
      const { message } = objectOrEmpty(answer.error);
      expect(message, why).toEqual(expect.stringMatching(/\S/));
      const again = { ...more, ...whole[method] };
      const { result } = await editor.request(method, again);
      expect(result, why).toBeDefined();
      return objectOrEmpty(result);
    };
    await request("initialize");
    const { sessionId = "" } = await request("session/new");
    const own = { sessionId };
    await request("session/set_mode", own);
    await request("session/set_config_option", own);
    isStarting = editorBrings(sent["session/new"]);
    const { stopReason } = await request("session/prompt", own);
    if (at !== "session/request_permission") {
      expect(stopReason, why).toBe("end_turn");
    }
    check(editor, agents, sent, { at, json, why });
    if (at === "session/list") await request(at);
    if (at === "session/load" || at === "session/resume") {
      await request(at, own);
    }
    await request("session/close", own);
    const texts = JSON.stringify(editor.got);
    expect(texts, why).not.toMatch(DUMP);
    expect(unpairedIn(editor.got), why).toEqual([]);
  } finally {
    editor.close();
  }
}

/** Whether the user is asked about a program before the first prompt. */
function editorBrings(params: JsonObject | undefined): boolean {
  return listOrEmpty(params?.mcpServers).length > 0;
}

function check(
  editor: Editor,
  agents: readonly MutantAgent[],
  sent: Readonly<Record<string, JsonObject>>,
  { at, json, why }: Mutated,
): void {
  const asked = agents.flatMap((agent) => agent.asked);
  const replies = agents.flatMap((agent) => [...agent.replies.values()]).flat();
  expect(unpairedIn([asked, replies]), why).toEqual([]);
  const refused = editor.got.flatMap(({ error }) => error ?? []);
  const told = editor.got.filter(
    ({ params }) =>
      objectOrEmpty(objectOrEmpty(params).update).sessionUpdate === "notice",
  );
  const isTold = refused.length + told.length + editor.logged.length > 0;
  const arrived = JSON.stringify(asked);
  const words = (value: unknown): string[] =>
    JSON.stringify(value ?? null).match(/\b\w+word\b/g) ?? [];
  for (const method of ["session/new", "session/prompt", "fs/read_text_file"]) {
    const isRead = method === "fs/read_text_file";
    // Without the capability or the link, no buffer is read.
    if (isRead && /^(initialize|session\/prompt)$/.test(at)) continue;
    const expected = words(sent[method]).filter(
      (word) => !arrived.includes(word),
    );
    expect(
      expected.length === 0 || (at === method && isTold),
      `${expected} of ${why}`,
    ).toBe(true);
  }
  if (at === "session/request_permission") {
    const { outcome, optionId } = objectOrEmpty(json.outcome);
    const isYes = outcome === "selected" && optionId === "proceed_once";
    const given = replies.map(
      ({ result }) => objectOrEmpty(objectOrEmpty(result).outcome).optionId,
    );
    expect(given.includes("yes"), why).toBe(isYes);
  }
}
