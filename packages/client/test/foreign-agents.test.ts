import { Buffer } from "node:buffer";
import type { ServerResponse } from "node:http";
import { create, type JsonObject } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { defined } from "@devtool/internal/json";
import {
  emptyTask,
  reduceTask,
  type TaskEvent,
  TaskState,
} from "@devtool/schema";
import { AgentCardSchema } from "@devtool/schema/a2a-v1";
import { describe, expect, it } from "vitest";
import { createA2aTransport, createAgentTransport } from "../src/a2a.ts";
import {
  createDevtoolClient,
  type DevtoolClient,
  streamMessage,
  subscribeTask,
  textMessage,
} from "../src/index.ts";
import {
  json,
  type RecordedAgent,
  type RecordedRequest,
  result,
  startRecordedAgent,
} from "./recorded-agent.ts";
import { deadline, joinText, madeText, QUICK } from "./streams.ts";

const MESSAGE = textMessage("m1", "go");
const PLACE = { taskId: "t1", contextId: "c1" };
const PNG = Buffer.from("not really a picture").toString("base64");

type Frame = (version: string) => JsonObject;

/** The forms of frames in both versions of A2A. */
const task =
  (state = "submitted", more: JsonObject = {}): Frame =>
  (version) => {
    const whole = {
      id: "t1",
      contextId: "c1",
      ...more,
      status: status(version, state),
    };
    return version === "0.3" ? { kind: "task", ...whole } : { task: whole };
  };
const says =
  (state: string, id: string, ...parts: JsonObject[]): Frame =>
  (version) => {
    const message = messageOf(version, id, parts);
    const update = { ...PLACE, status: { ...status(version, state), message } };
    return version === "0.3"
      ? { kind: "status-update", ...update, final: false }
      : { statusUpdate: update };
  };
const ends =
  (state = "completed", place = PLACE): Frame =>
  (version) => {
    const update = { ...place, status: status(version, state) };
    return version === "0.3"
      ? { kind: "status-update", ...update, final: true }
      : { statusUpdate: update };
  };
const makes =
  (artifactId: string, append: boolean, ...parts: JsonObject[]): Frame =>
  (version) => {
    const artifact = {
      artifactId,
      parts: parts.map((one) => partOf(version, one)),
    };
    const update = { ...PLACE, artifact, append, lastChunk: false };
    return version === "0.3"
      ? { kind: "artifact-update", ...update }
      : { artifactUpdate: update };
  };

function status(version: string, state: string): JsonObject {
  const name = state.toUpperCase().replace("-", "_");
  return { state: version === "0.3" ? state : `TASK_STATE_${name}` };
}

function messageOf(version: string, messageId: string, parts: JsonObject[]) {
  const said = parts.map((part) => partOf(version, part));
  return version === "0.3"
    ? { kind: "message", messageId, role: "agent", parts: said }
    : { messageId, role: "ROLE_AGENT", parts: said };
}

/** A part of 1.0 in the form of a version. */
function partOf(version: string, part: JsonObject): JsonObject {
  if (version !== "0.3") return part;
  const { raw, url, filename: name, mediaType: mimeType, ...rest } = part;
  if (raw === undefined && url === undefined) {
    const [kind = ""] = Object.keys(rest);
    return { kind, ...rest };
  }
  return {
    kind: "file",
    file: defined({ name, mimeType, uri: url, bytes: raw }),
  };
}

interface Case {
  readonly name: string;
  readonly frames: readonly Frame[];
  /** The text of messages. Default: none. */
  readonly said?: string;
  /** The text of artifacts. Default: none. */
  readonly made?: string;
  /** What the only notice says. Default: there is none. */
  readonly told?: RegExp;
  /** How a frame is written. Default: as a `data:` line. */
  readonly write?: (data: string, index: number) => string;
}

const HELLO = [task(), says("working", "a1", { text: "Hello." }), ends()];
const line = (data: string): string => `data: ${data}\n\n`;

const CASES: readonly Case[] = [
  {
    name: "K6: an error that is null beside each result",
    frames: HELLO,
    said: "Hello.",
    write: (data) => line(data.replace("{", '{"error":null,')),
  },
  {
    name: "B19: a frame of an unknown kind",
    frames: [
      task(),
      () => ({ kind: "progress", percent: 5 }),
      ...HELLO.slice(1),
    ],
    said: "Hello.",
    told: /kind|holds nothing/,
  },
  {
    name: "B19: a part of an unknown kind",
    frames: [
      task(),
      says("working", "a1", { text: "Hello." }, { video: "x" }),
      ends(),
    ],
    said: "Hello.",
    told: /parts\[1\]/,
  },
  {
    name: "B19: a part of the wrong type in an artifact",
    frames: [task(), makes("x", false, { text: 7 }, { text: "kept" }), ends()],
    made: "kept",
    told: /parts\[0\]\.text must be a string, got 7/,
  },
  {
    name: "B28: an event of another task",
    frames: [
      task(),
      ends("failed", { taskId: "t9", contextId: "c1" }),
      ...HELLO.slice(1),
    ],
    said: "Hello.",
    told: /another task, t9/,
  },
  {
    name: "B3: half a surrogate pair",
    frames: HELLO,
    said: "Hell\u{fffd}.",
    write: (data) => line(data.replace("o.", "\\ud83d.")),
  },
  {
    name: "a number that a double cannot hold",
    frames: [
      task(),
      says("working", "a1", { data: { n: "N", big: "E", small: 0.5 } }),
      ends(),
    ],
    said: '{"n":"12345678901234567890","big":"1e400","small":0.5}',
    write: (data) =>
      line(data.replace('"N"', "12345678901234567890").replace('"E"', "1e400")),
  },
  {
    name: "I4: separate messages, and pieces of one message",
    frames: [
      task(),
      says("working", "a1", { text: "One " }),
      says("working", "a1", { text: "text." }),
      says("working", "a2", { text: "Another." }),
      ends(),
    ],
    said: "One text.\n\nAnother.",
  },
  {
    name: "I4: messages around an artifact",
    frames: [
      task(),
      says("working", "a1", { text: "working on it" }),
      makes("x", false, { text: "made" }),
      says("completed", "a2", { text: "both done" }),
    ],
    said: "working on it\n\nboth done",
    made: "made",
  },
  {
    name: "several parts of a message",
    frames: [
      task(),
      says(
        "working",
        "a1",
        { text: "One, " },
        { text: "two, " },
        { data: { n: 3 } },
      ),
      ends(),
    ],
    said: 'One, two, {"n":3}',
  },
  {
    name: "a message that the last status and the history have",
    frames: [
      task("working"),
      says("working", "a1", { text: "Hello." }),
      (version) =>
        task("completed", {
          history: [
            {
              ...messageOf(version, "m1", [{ text: "go" }]),
              role: version === "0.3" ? "user" : "ROLE_USER",
            },
            messageOf(version, "a1", [{ text: "Hello." }]),
            messageOf(version, "a2", [{ text: "More." }]),
          ],
          artifacts: [
            { artifactId: "x", parts: [partOf(version, { text: "made" })] },
          ],
        })(version),
    ],
    said: "Hello.\n\nMore.",
    made: "made",
  },
];

describe.each(["0.3", "1.0"])("an agent of others over A2A %s", (version) => {
  const message = messageOf(version, "a1", [{ text: "Hello." }]);
  const said = task("completed", { history: [message] });
  it.each(CASES)("may send $name", async (one) => {
    const { frames, said = "", made = "", told, write = line } = one;
    await using agent = await startRecordedAgent(
      streamOf(
        frames.map((frame) => frame(version)),
        write,
      ),
      refusal,
    );
    const events = await exchange(agent, version);
    expect([joinText(events), madeText(events), events.at(-1)?.state]).toEqual([
      said,
      made,
      TaskState.COMPLETED,
    ]);
    expect(notices(events)).toEqual(told ? [expect.stringMatching(told)] : []);
    expect(agent.requests).toHaveLength(1);
  });

  it("I3: may send files, in messages and as artifacts", async () => {
    const picture = { raw: PNG, filename: "a.png", mediaType: "image/png" };
    const link = { url: "https://agent.test/b.pdf", filename: "b.pdf" };
    const frames = [
      task(),
      says("working", "a1", { text: "See:" }, picture),
      makes("x", false, link),
      ends(),
    ];
    await using agent = await startRecordedAgent(
      streamOf(frames.map((frame) => frame(version))),
    );
    const events = await exchange(agent, version);
    const { artifacts } = events.reduce(reduceTask, emptyTask());
    expect(artifacts.flatMap(({ parts }) => parts)).toMatchObject([
      {
        content: {
          value: {
            name: "a.png",
            mediaType: "image/png",
            source: { case: "bytes" },
          },
        },
      },
      { content: { value: { name: "b.pdf", source: { value: link.url } } } },
    ]);
  });

  it.each([
    ["with its task", [said], ["send"]],
    [
      "with a task that works on",
      [task(), task("working"), said],
      ["send", "get", "get"],
    ],
  ])(
    "B21: may not stream, as its card says, and answers %s",
    async (_how, tasks, called) => {
      const [first, ...later] = tasks.map((frame) => frame(version));
      await using agent = await startRecordedAgent(
        result(first),
        ...later.map((one) => result(one.task ?? one)),
      );
      const { url } = agent;
      const card = create(AgentCardSchema, {
        capabilities: { streaming: false },
        supportedInterfaces: [
          { url, protocolBinding: "JSONRPC", protocolVersion: version },
        ],
      });
      const client = createDevtoolClient(createAgentTransport(card, { url }));
      const events = await Array.fromAsync(
        streamMessage(client, { message: MESSAGE }, deadline(), QUICK),
      );
      expect([joinText(events), events.at(-1)?.state]).toEqual([
        "Hello.",
        TaskState.COMPLETED,
      ]);
      const short = ({ body: { method = "" } }: RecordedRequest): string =>
        /send|get/i.exec(method)?.[0].toLowerCase() ?? method;
      expect(agent.requests.map(short)).toEqual(called);
      expect(agent.requests[0]?.body.method).not.toMatch(/stream/i);
      // The task is known as soon as the agent has it.
      expect(agent.requests[0]?.body.params).toMatchObject({
        configuration:
          version === "1.0" ? { returnImmediately: true } : { blocking: false },
      });
      expect(notices(events)).toEqual([]);
    },
  );

  it("B12: may break a stream and not resume it: the task is asked for", async () => {
    const made = [
      { artifactId: "x", parts: [partOf(version, { text: "all of it" })] },
    ];
    const done = task("completed", { artifacts: made })(version);
    await using agent = await startRecordedAgent(
      streamOf(
        [task(), makes("x", false, { text: "all " })].map((frame) =>
          frame(version),
        ),
      ),
      refusal,
      result(task("working")(version).task ?? task("working")(version)),
      result(done.task ?? done),
    );
    const lost: string[] = [];
    const events = await exchange(agent, version, (why) => lost.push(why));
    expect([madeText(events), events.at(-1)?.state]).toEqual([
      "all of it",
      TaskState.COMPLETED,
    ]);
    expect(lost).toEqual(["the stream ended before its task did"]);
    expect(notices(events)).toEqual([expect.stringMatching(/no such method/)]);
  });

  it("B10: that is busy is asked a few times, and each is told", async () => {
    await using agent = await startRecordedAgent(
      json("later", 429),
      json("later", 503),
      streamOf(HELLO.map((frame) => frame(version))),
    );
    const lost: string[] = [];
    const events = await exchange(agent, version, (why) => lost.push(why));
    expect([joinText(events), lost.length]).toEqual(["Hello.", 2]);
  });

  it.each([
    { error: { code: -32603, message: "boom" } },
    { error: { code: -32603, message: "boom" }, result: null },
    { error: "boom" },
    { error: { code: null, message: "boom", data: null } },
    { error: { message: "boom" } },
    { error: { code: "boom" } },
    { error: { data: { reason: "boom" } } },
    { error: ["boom"] },
  ])("I5, K6: fails with what its stream ends with: %j", async (outcome) => {
    const frames = [task(), says("working", "a1", { text: "Hello." })];
    const error = { jsonrpc: "2.0", id: 1, ...outcome };
    await using agent = await startRecordedAgent((response, id) => {
      response.writeHead(200, { "content-type": "Text/Event-Stream" });
      response.write(
        frames.map((frame) => line(envelope(frame(version), id))).join(""),
      );
      response.end(line(JSON.stringify(error)));
    });
    await expect(exchange(agent, version)).rejects.toMatchObject({
      code: Code.Internal,
      rawMessage: expect.stringContaining("boom"),
    });
    expect(agent.requests).toHaveLength(1);
  });

  it("B12: shows an ended task that it does not stream any more", async () => {
    const made = [
      { artifactId: "x", parts: [partOf(version, { text: "made" })] },
    ];
    const done = task("completed", { artifacts: made })(version);
    await using agent = await startRecordedAgent(
      refusal,
      result(done.task ?? done),
    );
    const log = subscribeTask(
      connect(agent, version),
      { taskId: "t1" },
      deadline(),
      QUICK,
    );
    const events = await Array.fromAsync(log);
    expect([madeText(events), notices(events)]).toEqual(["made", []]);
  });

  it("B19: may have a task with an element that cannot be read", async () => {
    const history = [
      7,
      { ...messageOf(version, "a1", [{ text: "kept" }, { video: "x" }]) },
    ];
    const whole = task("completed", { history })(version);
    await using agent = await startRecordedAgent(result(whole.task ?? whole));
    const { tasks } = connect(agent, version);
    const got = (await tasks.getTask({ taskId: "t1" })).task;
    const texts = got?.history
      .flatMap(({ parts }) => parts)
      .map(({ content }) => content.value);
    expect(texts).toEqual([
      "kept",
      expect.stringMatching(
        /^left out: history\[0\].*\nleft out: history\[\d\]\.parts\[1\]/,
      ),
    ]);
  });
});

it("N16: an agent is told the length of what is posted to it", async () => {
  await using agent = await startRecordedAgent(
    streamOf(HELLO.map((frame) => frame("0.3"))),
  );
  await exchange(agent, "0.3");
  expect(Number(agent.requests[0]?.headers["content-length"])).toBeGreaterThan(
    0,
  );
});

function exchange(
  agent: RecordedAgent,
  version: string,
  onLost: (why: string) => void = () => undefined,
): Promise<TaskEvent[]> {
  const client = connect(agent, version);
  const options = {
    ...QUICK,
    onLost: ({ rawMessage }: { readonly rawMessage: string }) =>
      onLost(rawMessage),
  };
  return Array.fromAsync(
    streamMessage(client, { message: MESSAGE }, deadline(), options),
  );
}

function connect(
  { url }: RecordedAgent,
  protocolVersion: string,
): DevtoolClient {
  return createDevtoolClient(
    createA2aTransport({ url, protocolVersion, extension: "none" }),
  );
}

function notices(events: readonly TaskEvent[]): string[] {
  return events.flatMap(({ payload }) =>
    payload.case === "notice" ? [payload.value.text] : [],
  );
}

function envelope(frame: JsonObject, id: number): string {
  return JSON.stringify({ jsonrpc: "2.0", id, result: frame });
}

function streamOf(
  frames: readonly JsonObject[],
  write: NonNullable<Case["write"]> = line,
) {
  return (response: ServerResponse, id: number): void => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end(
      frames.map((frame, index) => write(envelope(frame, id), index)).join(""),
    );
  };
}

function refused(code: number, message: string) {
  return (response: ServerResponse, id: number): void =>
    json({ jsonrpc: "2.0", id, error: { code, message } })(response);
}

function refusal(response: ServerResponse, id: number): void {
  refused(-32601, "no such method")(response, id);
}
