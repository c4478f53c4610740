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
        .writeHead(status, { "content-type": "application/json" })
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
