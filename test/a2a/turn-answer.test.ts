import { create } from "@bufbuild/protobuf";
import { serveCodingAgent } from "@devtool/coding-agent";
import { putFile } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import {
  AgentThoughtSchema,
  ArtifactUpdateSchema,
  CitationSchema,
  EXTENSION_URI,
  TaskState,
} from "@devtool/schema";
import {
  type Agent,
  type AgentEvent,
  createServer,
  type DevtoolServer,
} from "@devtool/server";
import { EventSourceParserStream } from "eventsource-parser/stream";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bindingsOf, type Json } from "../conformance/tck/bindings.ts";
import { callRpc } from "../post-json.ts";
import { receive } from "../push/receiver.ts";
import { firstText } from "../tasks.ts";

/** What a client that reads the result of a completed task finds there. */
interface Result {
  readonly state: string;
  /** The text of each artifact. */
  readonly artifacts: readonly string[];
  /** The text of the status. */
  readonly message: string;
}

/** The words of an agent of one's own: each line is something that it does. */
const TURNS: readonly (readonly [string, string, readonly string[], string])[] =
  [
    ["one message", "say Hello\nsay  there.", ["Hello there."], ""],
    [
      "messages before and after a call",
      "say One.\ncall\nsay Two.",
      ["One.\n\nTwo."],
      "",
    ],
    ["a text around a citation", "say He\ncite\nsay llo.", ["Hello."], ""],
    [
      "texts with a thought between them",
      "say One.\nthink\nsay Two.",
      ["One.\n\nTwo."],
      "",
    ],
    ["closing words alone", "end Bye.", [], "Bye."],
    ["a text and closing words", "say One.\nend Bye.", ["One.\n\nBye."], ""],
    ["an artifact alone", "file X", ["X"], ""],
    ["an artifact and a text", "file X\nsay One.", ["X", "One."], ""],
    ["an artifact that is the text", "say X\nfile X", ["X"], ""],
    ["nothing", "call", [], ""],
  ];

const AGENT: Agent = {
  about: { name: "Own", description: "Does what each line says." },
  open: () => ({
    createExecutor: () => ({
      execute: async function* (turn, signal): AsyncIterable<AgentEvent> {
        for (const line of firstText(turn.prompt).split("\n")) {
          const [word, value] = [line.slice(0, line.indexOf(" ")), line];
          const text = value.slice(word.length + 1);
          if (word === "say") yield { case: "text", value: text };
          if (word === "end") {
            yield { case: "end", value: { state: TaskState.COMPLETED, text } };
          }
          if (word === "file") yield artifactEvent(text);
          if (line === "cite") {
            yield { case: "citation", value: create(CitationSchema) };
          }
          if (line === "think") {
            yield { case: "thought", value: create(AgentThoughtSchema) };
          }
          if (line === "call") {
            yield* turn.call(
              { toolName: "look", run: () => Promise.resolve("seen") },
              signal,
            );
          }
        }
      },
    }),
  }),
};

function artifactEvent(text: string): AgentEvent {
  const artifact = {
    artifactId: "own",
    parts: [{ content: { case: "text" as const, value: text } }],
  };
  const value = create(ArtifactUpdateSchema, { artifact, lastChunk: true });
  return { case: "artifact", value };
}

describe("I2: the answer of a turn, for a client without the extension", () => {
  let server: DevtoolServer;
  beforeAll(async () => {
    server = await createServer({
      workspace: process.cwd(),
      agents: { own: AGENT },
    });
  });
  afterAll(() => server.close());

  describe.each(TURNS)("after %s", (_name, prompt, artifacts, message) => {
    const expected = (state: string): Result => ({ state, artifacts, message });

    it.each(WAYS)(
      "stands where its client looks, over %s",
      async (_way, ask) => {
        const { send, stream, get } = ask(server);
        const sent = await send(said(prompt));
        expect(resultOf(sent)).toEqual(expected(stateOf(sent)));
        expect(stateOf(sent)).toMatch(/completed/i);
        expect(resultOf(await get(sent.id))).toEqual(expected(stateOf(sent)));
        const frames = await stream(said(prompt));
        expect(streamedResult(frames)).toEqual(expected(stateOf(sent)));
      },
    );
  });

  it("is the same in a subscription from the start, and not repeated where the task has it", async () => {
    const { send, call } = overV03(server);
    const { id } = await send(said("say One.\ncall\nsay Two."));
    const whole = await call("tasks/resubscribe", { id }, "0");
    expect(streamedResult(whole)).toEqual({
      state: "completed",
      artifacts: ["One.\n\nTwo."],
      message: "",
    });
    const [task, end, ...rest] = await call("tasks/resubscribe", { id });
    expect(resultOf(task).artifacts).toEqual(["One.\n\nTwo."]);
    expect([end.kind, end.final, rest]).toEqual(["status-update", true, []]);
  });

  it("is of the last turn where a task goes on", async () => {
    const { send, get, call } = overV03(server);
    const { id } = await send(said("say One."));
    const next = await send({ ...said("say Two."), taskId: id });
    expect(resultOf(next).artifacts).toEqual(["Two."]);
    expect(resultOf(await get(id)).artifacts).toEqual(["Two."]);
    const replayed = await call("tasks/resubscribe", { id }, "0");
    const answers = replayed.filter(({ kind }) => kind === "artifact-update");
    expect(answers.map(partsText)).toEqual(["One.", "Two."]);
  });

  it("is not shown to a client with the extension", async () => {
    const { send, stream } = overV03(server, {
      "x-a2a-extensions": EXTENSION_URI,
    });
    const frames = await stream(said("say One."));
    expect(frames.map(({ kind }) => kind)).not.toContain("artifact-update");
    expect(resultOf(await send(said("say One."))).artifacts).toEqual([]);
  });

  it("is left out of a list without artifacts", async () => {
    const { send } = overV03(server);
    await send(said("say One."));
    const list = async (query: string) => {
      const response = await fetch(`${server.url}/v1/tasks?${query}`, {
        headers: { authorization: `Bearer ${server.token}` },
      });
      const { tasks } = Object(await response.json());
      return tasks.flatMap((task: Json) => task.artifacts ?? []);
    };
    expect(await list("pageSize=1&historyLength=1")).toEqual([]);
    expect(await list("pageSize=1&includeArtifacts=true")).toHaveLength(1);
  });
});

describe("I2: the answer of the coding agent", () => {
  it("is whole after an approval, after a restart, and at a webhook", async () => {
    const workspace = temporaryDirectory();
    const dataDirectory = temporaryDirectory();
    putFile(workspace, "b.txt", "b");
    await using receiver = await receive();
    const start = () =>
      serveCodingAgent({
        ...{ workspace, dataDirectory },
        pushTargets: [receiver.target],
      });
    const answer = "One.\n\nTwo.\n\nThree.";
    let id = "";
    {
      await using server = await start();
      const { send } = overV03(server);
      const prompt =
        "text One.\nread b.txt\nnext\ntext Two.\nwrite a.txt one\nnext\ntext Three.";
      const asked = await send(said(prompt), {
        pushNotificationConfig: { url: receiver.url },
      });
      expect([stateOf(asked), resultOf(asked).artifacts]).toEqual([
        "input-required",
        [],
      ]);
      id = asked.id;
      const done = await send({ ...said("yes"), taskId: id });
      expect(resultOf(done).artifacts).toEqual([answer]);
      const isEnd = ({ body }: { readonly body: string }) =>
        stateOf(JSON.parse(body)) === "completed";
      while (!receiver.received.some(isEnd)) {
        await receiver.reached(receiver.received.length + 1);
      }
      const posts = receiver.received.map(({ body }) => JSON.parse(body));
      expect(resultOf(posts.at(-1))).toEqual({
        ...{ state: "completed", artifacts: [], message: answer },
      });
    }
    await using again = await start();
    expect(resultOf(await overV03(again).get(id)).artifacts).toEqual([answer]);
  });
});

/** The calls of a client that only knows A2A. */
interface PlainClient {
  send(message: Json, configuration?: Json): Promise<Json>;
  stream(message: Json): Promise<readonly Json[]>;
  get(id: string): Promise<Json>;
}

const WAYS: readonly (readonly [
  string,
  (server: DevtoolServer) => PlainClient,
])[] = [
  ["A2A 0.3 (JSON-RPC)", overV03],
  ["A2A 1.0 (JSON-RPC)", (server) => overV1(server, "JSON-RPC")],
  ["A2A 1.0 (HTTP+JSON)", (server) => overV1(server, "HTTP+JSON")],
  ["A2A 1.0 (gRPC)", (server) => overV1(server, "gRPC")],
];

function overV03(
  { url, token }: DevtoolServer,
  headers: Readonly<Record<string, string>> = {},
) {
  const post = (method: string, params: Json, more: Record<string, string>) =>
    callRpc({ url, token }, method, params, { ...headers, ...more });
  const call = async (
    method: string,
    params: Json,
    last = "",
  ): Promise<Json[]> => {
    const response = await post(method, params, {
      accept: "text/event-stream",
      ...(last !== "" && { "last-event-id": last }),
    });
    const events = response.body
      ?.pipeThrough(new TextDecoderStream())
      .pipeThrough(new EventSourceParserStream());
    const frames: Json[] = [];
    for await (const { data } of events ?? []) {
      frames.push(JSON.parse(data).result);
    }
    return frames;
  };
  const unary = async (method: string, params: Json): Promise<Json> =>
    Object(await (await post(method, params, {})).json()).result;
  return {
    call,
    send: (message: Json, configuration: Json = {}) =>
      unary("message/send", { message, configuration }),
    stream: (message: Json) => call("message/stream", { message }),
    get: (id: string) => unary("tasks/get", { id }),
  };
}

function overV1({ url, token }: DevtoolServer, name: string): PlainClient {
  const binding = bindingsOf(url, { authorization: `Bearer ${token}` }).find(
    (found) => found.name === name,
  );
  if (!binding) throw new Error(`no binding ${name}`);
  const inV1 = ({ parts, messageId }: Json) => ({
    ...{ messageId, role: "ROLE_USER" },
    parts: parts.map(({ text }: Json) => ({ text })),
  });
  return {
    send: async (message) =>
      (await binding.call("SendMessage", { message: inV1(message) })).result
        .task,
    stream: async (message) => {
      const { elements } = await binding.stream("SendStreamingMessage", {
        message: inV1(message),
      });
      const frames: Json[] = [];
      for await (const element of elements) {
        frames.push(Object.values(element.result ?? element)[0]);
      }
      return frames;
    },
    get: async (id) => (await binding.call("GetTask", { id })).result,
  };
}

function said(text: string): Json {
  const parts = [{ kind: "text", text }];
  return { messageId: crypto.randomUUID(), role: "user", parts };
}

const stateOf = ({ status }: Json): string => status.state;

const partsText = (holder: Json): string =>
  (holder?.artifact ?? holder?.message ?? holder)?.parts
    ?.map(({ text }: Json) => text ?? "")
    .join("") ?? "";

function resultOf({ status, artifacts = [] }: Json): Result {
  return {
    state: status.state,
    artifacts: artifacts.map(partsText),
    message: partsText(status),
  };
}

/** The result as a client collects it from a stream. */
function streamedResult(frames: readonly Json[]): Result {
  const updates = frames.filter((frame) => frame.artifact);
  const last = frames.at(-1);
  const artifacts = new Map(
    updates.map((update) => [update.artifact.artifactId, partsText(update)]),
  );
  return { ...resultOf(last), artifacts: [...artifacts.values()] };
}
