import { once } from "node:events";
import { createServer } from "node:http";
import { json } from "node:stream/consumers";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { Recording } from "./recording.ts";
import { restBindingV03 } from "./rest-v03.ts";

const CONFIG = { url: "https://a/", id: "one" };
const SET = {
  method: "tasks/pushNotificationConfig/set",
  params: { taskId: "t", pushNotificationConfig: CONFIG },
} as const;
const WHOLE = {
  parent: "tasks/t",
  configId: "one",
  config: {
    name: "tasks/t/pushNotificationConfigs/one",
    pushNotificationConfig: CONFIG,
  },
};
const REFUSED = { code: -32602, message: "no" };

const TASK = {
  id: "t",
  contextId: "c",
  status: { state: "TASK_STATE_COMPLETED" },
};

/** The answer of a server: a status and JSON. */
type Answer = readonly [number, JsonValue];

describe("the HTTP+JSON binding of A2A 0.3", () => {
  /**
   * Plays a call against a server that sends the answers in order. Returns the
   * exchange and the requests.
   */
  async function play(
    call: { readonly method: string; readonly params: JsonObject },
    answers: readonly Answer[],
    type = "application/json",
  ) {
    const posted: unknown[] = [];
    const server = createServer(async (request, response) => {
      const [status, body] = answers[posted.length] ?? [
        500,
        "one request too many",
      ];
      posted.push(
        request.method === "POST" ? await json(request) : request.url,
      );
      response
        .writeHead(status, { "content-type": type })
        .end(JSON.stringify(body));
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const address = server.address();
    const url = `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}/rest/`;
    const recording = new Recording();
    const limit = AbortSignal.timeout(300_000);
    const played = { ...call, headers: {}, leaveAfter: 1 };
    const exchange = await restBindingV03({ url, token: undefined }).play(
      played,
      recording,
      limit,
    );
    server.close();
    return {
      ...exchange,
      json: exchange.documents[0]?.json,
      posted,
      recording,
    };
  }

  const get = (answer: Answer) =>
    play({ method: "tasks/get", params: { id: "t" } }, [answer]);

  it("sends a message as a blocking request", async () => {
    const { posted } = await play(
      { method: "message/send", params: { message: { role: "user" } } },
      [[200, {}]],
    );
    expect(posted).toEqual([
      {
        message: { role: "ROLE_USER", content: [] },
        configuration: { blocking: true },
      },
    ]);
  });

  it("sets a push config with the proto's whole request", async () => {
    const { posted, json: answer } = await play(SET, [[201, WHOLE.config]]);
    expect(posted).toEqual([WHOLE]);
    expect(answer?.result).toEqual(SET.params);
  });

  it("sends the config alone if the whole request is refused, and records both", async () => {
    const {
      posted,
      json: answer,
      recording,
    } = await play(SET, [
      [400, REFUSED],
      [201, WHOLE.config],
    ]);
    expect(posted).toEqual([WHOLE, WHOLE.config]);
    expect(answer?.result).toEqual(SET.params);
    expect(recording.records.map(({ status }) => status)).toEqual([
      "400",
      "201",
    ]);
  });

  it("does not retry a config that is refused for another reason, or any other call", async () => {
    const unsupported = { code: -32003, message: "no" };
    const { posted, json: answer } = await play(SET, [[501, unsupported]]);
    expect(posted).toEqual([WHOLE]);
    expect(answer?.error).toEqual(unsupported);
    expect((await get([422, REFUSED])).json?.error).toEqual(REFUSED);
  });

  it.each<[string, Answer, number]>([
    [
      "an error object of JSON-RPC",
      [409, { code: -32002, message: "no" }],
      -32002,
    ],
    [
      "an error object of JSON-RPC with a success status",
      [200, { code: -32001, message: "no" }],
      -32001,
    ],
    ["a message and the status", [404, { message: "no" }], -32001],
    ["the form of 1.0", [400, errorOfV1("TASK_NOT_CANCELABLE")], -32002],
    ["no known form", [405, { detail: "Method Not Allowed" }], -32603],
  ])("reads errors that have %s", async (_form, answer, code) => {
    const { status, json: document } = await get(answer);
    expect(status).toBe(200);
    expect(document?.error).toMatchObject({
      code,
      message: expect.any(String),
    });
  });

  it.each<[string, string, JsonObject, string]>([
    [
      "a task without a context",
      "tasks/get",
      { id: "t", status: TASK.status },
      "result (task).contextId is missing",
    ],
    [
      "a task of 1.0 in snake_case",
      "tasks/get",
      { id: "t", context_id: "c", status: TASK.status },
      "result.context_id must be written contextId",
    ],
    [
      "a state that there is not",
      "message/send",
      { task: { ...TASK, status: { state: "DONE" } } },
      "result (task).status.state must be one of",
    ],
    [
      "a message without an id",
      "message/send",
      { message: { role: "ROLE_AGENT", content: [{ text: "Hi." }] } },
      "result (message).messageId is missing",
    ],
    [
      "a task without its field",
      "message/send",
      { id: "t" },
      "the answer must have one of the fields task, message,",
    ],
  ])("reports %s (A2A03-JSON)", async (_fault, method, json, reason) => {
    const whole: Answer = [200, { task: TASK }];
    expect(
      (await play({ method: "message/send", params: {} }, [whole])).breaches,
    ).toEqual([]);
    const call = { method, params: { id: "t" } };
    const { breaches } = await play(call, [[200, json]]);
    expect(breaches).toMatchObject([
      { requirement: "A2A03-JSON", reason: expect.stringContaining(reason) },
    ]);
  });

  it("reports a result that is not sent as JSON (A2A03-CONTENT-TYPE)", async () => {
    const call = { method: "tasks/get", params: { id: "t" } };
    const { breaches } = await play(call, [[200, TASK]], "text/plain");
    expect(breaches).toMatchObject([
      {
        requirement: "A2A03-CONTENT-TYPE",
        reason: "the content type must be application/json: got text/plain",
      },
    ]);
  });

  it("reads configs as a list or in an envelope, and does not take other JSON for a task", async () => {
    const list = {
      method: "tasks/pushNotificationConfig/list",
      params: { id: "t" },
    };
    for (const body of [{ configs: [WHOLE.config] }, [SET.params]]) {
      expect((await play(list, [[200, body]])).json?.result).toEqual([
        SET.params,
      ]);
    }
    const sent = await play({ method: "message/send", params: {} }, [
      [200, { id: "t" }],
    ]);
    expect(sent.json?.result).toEqual({ id: "t" });
  });
});

function errorOfV1(reason: string): JsonObject {
  const info = {
    "@type": "type.googleapis.com/google.rpc.ErrorInfo",
    reason,
    domain: "a2a-protocol.org",
  };
  return {
    error: {
      code: 400,
      status: "FAILED_PRECONDITION",
      message: "no",
      details: [info],
    },
  };
}
