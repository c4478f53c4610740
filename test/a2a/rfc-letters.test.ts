import { serveCodingAgent } from "@devtool/coding-agent";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { EXTENSION_URI } from "@devtool/schema";
import { type Agent, createServer, type DevtoolServer } from "@devtool/server";
import { EventSourceParserStream } from "eventsource-parser/stream";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Json } from "../conformance/tck/bindings.ts";
import { callRpc, postJson } from "../post-json.ts";

describe("the RFC to the letter, for a client of A2A 0.3", () => {
  let workspace: string;
  let dataDirectory: string;
  let server: DevtoolServer;
  const start = () => serveCodingAgent({ workspace, dataDirectory });
  beforeAll(async () => {
    workspace = temporaryDirectory();
    dataDirectory = temporaryDirectory();
    server = await start();
  });
  afterAll(() => server.close());

  it.each([
    { command_path: ["help"] },
    { command_path: ["about"] },
    { command_path: ["shell"], args: "echo shown" },
  ])("N4: shows subscribers the output of %j", async (params) => {
    const { result } = await call(server, "command/execute", params);
    expect(result.status).toBe("STARTED");
    const id = result.execution_id;
    for (let reader = 0; reader < 2; reader++) {
      const frames = await stream(server, "tasks/resubscribe", { id });
      expect(frames[0]).toMatchObject({ kind: "task", id });
      const kinds = frames.map(kindOf);
      expect(kinds).toContain(
        params.args === undefined ? "TEXT_CONTENT" : "TOOL_CALL_UPDATE",
      );
      expect(frames.map(({ final }) => final === true).lastIndexOf(true)).toBe(
        frames.length - 1,
      );
    }
  });

  it("N8: names the model in the history, and in the first event after a restart", async () => {
    const sent = await stream(server, "message/stream", {
      message: said("think\ntext Hello.\nwrite a.txt one\ntext Done."),
    });
    const id = sent[0].id;
    const inHistory = async (): Promise<string[]> => {
      const { result } = await call(server, "tasks/get", { id });
      const messages = [...result.history, result.status.message];
      return messages
        .filter((message) => message?.role === "agent")
        .map(({ metadata }) => metadata[EXTENSION_URI].model);
    };
    expect(new Set(await inHistory())).toEqual(new Set(["scripted"]));
    await server.close();
    server = await start();
    expect(new Set(await inHistory())).toEqual(new Set(["scripted"]));
    const answered = await stream(server, "message/stream", {
      message: {
        ...said(""),
        taskId: id,
        parts: [
          {
            kind: "data",
            data: {
              tool_call_id: callIn(sent).tool_call_id,
              selected_option_id: "proceed_once",
            },
          },
        ],
      },
    });
    expect(
      new Set(answered.map(({ metadata }) => metadata[EXTENSION_URI].model)),
    ).toEqual(new Set(["scripted"]));
  });

  it("N8: names an agent of one's own that names no model", async () => {
    const own: Agent = {
      about: { name: "Own", description: "Says it." },
      open: () => ({
        createExecutor: () => ({
          execute: async function* (turn) {
            yield* turn.say("it");
          },
        }),
      }),
    };
    await using other = await createServer({ workspace, agents: { own } });
    const frames = await stream(other, "message/stream", {
      message: said("x"),
    });
    expect(
      frames.slice(1).map(({ metadata }) => metadata[EXTENSION_URI].model),
    ).toEqual(frames.slice(1).map(() => "Own"));
  });

  it("N9, N10: ends the exchange of a text behind a question with STATE_CHANGE, and gives a cancelled call its result", async () => {
    const asked = await stream(server, "message/stream", {
      message: said("write b.txt one"),
    });
    const taskId = asked[0].id;
    const queued = await stream(server, "message/stream", {
      message: { ...said("text later"), taskId },
    });
    expect(queued.at(-1)).toMatchObject({
      final: true,
      status: { state: "input-required" },
      metadata: { [EXTENSION_URI]: { kind: "STATE_CHANGE" } },
    });
    const { tool_call_id } = callIn(asked);
    const declined = await stream(server, "message/stream", {
      message: {
        ...said(""),
        taskId,
        parts: [
          {
            kind: "data",
            data: { tool_call_id, selected_option_id: "cancel" },
          },
        ],
      },
    });
    expect(callIn(declined)).toMatchObject({
      status: "CANCELLED",
      error: { message: "the call was cancelled", type: "cancelled" },
    });
  });

  it.each([
    [{ command_path: ["memory add"], args: "x" }, '["memory","add"]'],
    [{ command_path: ["memory\tadd"], args: "x" }, '["memory","add"]'],
  ])("N11: does not start a command with %j", async (params, remedy) => {
    const { result } = await call(server, "command/execute", params);
    expect(result).toMatchObject({
      status: "FAILED_TO_START",
      message: expect.stringContaining(remedy),
    });
  });

  it.each(["bogus", "arguments", "Metadata"])(
    "N11: refuses the unknown field %j of command/execute",
    async (name) => {
      const params = { command_path: ["about"], [name]: {} };
      const { error } = await call(server, "command/execute", params);
      expect([error.code, error.message]).toEqual([
        -32602,
        expect.stringContaining(`${name} is unknown: the fields here are`),
      ]);
    },
  );

  it.each([
    [{ "": "x" }, -32602],
    [{ message: said("x") }, -32600],
  ])(
    "reads the message of a request without an id first: %j is %i",
    async (params, code) => {
      const response = await postJson(server, "", {
        jsonrpc: "2.0",
        method: "message/send",
        params,
      });
      expect(await response.json()).toMatchObject({
        id: null,
        error: { code },
      });
    },
  );

  it("N15: reads params that are null as absent, in each method", async () => {
    const { result } = await call(server, "commands/get", null);
    expect(result.commands.length).toBeGreaterThan(3);
    const { error } = await call(server, "tasks/get", null);
    expect(error.code).toBe(-32602);
    const args = { command_path: ["about"], args: null, context_id: null };
    expect(await call(server, "command/execute", args)).toMatchObject({
      result: { status: "STARTED" },
    });
  });
});

async function post(
  { url, token }: DevtoolServer,
  method: string,
  params: Json,
  accept: string,
): Promise<Response> {
  return callRpc({ url, token }, method, params, {
    "x-a2a-extensions": EXTENSION_URI,
    accept: accept,
  });
}

async function call(
  server: DevtoolServer,
  method: string,
  params: Json,
): Promise<Json> {
  return (await post(server, method, params, "application/json")).json();
}

async function stream(
  server: DevtoolServer,
  method: string,
  params: Json,
): Promise<Json[]> {
  const response = await post(server, method, params, "text/event-stream");
  const events = response.body
    ?.pipeThrough(new TextDecoderStream())
    .pipeThrough(new EventSourceParserStream());
  const frames: Json[] = [];
  for await (const { data } of events ?? []) {
    frames.push(JSON.parse(data).result);
  }
  return frames;
}

function said(text: string): Json {
  const parts = [{ kind: "text", text }];
  return { messageId: crypto.randomUUID(), role: "user", parts };
}

const kindOf = ({ metadata }: Json): string | undefined =>
  metadata?.[EXTENSION_URI]?.kind;

/** The last tool call in the frames of a stream. */
function callIn(frames: readonly Json[]): Json {
  return frames
    .flatMap(({ status }) => status?.message?.parts ?? [])
    .findLast(({ data }) => data?.tool_call_id !== undefined)?.data;
}
