import { readFile } from "node:fs/promises";
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { BEHAVIOURS, createTckAgent, PROFILES } from "@devtool/cli/testing";
import { serveCodingAgent } from "@devtool/coding-agent";
import { findSubject, runServerSuite } from "@devtool/conformance";
import { A2AService } from "@devtool/schema/a2a-v1";
import { createServer } from "@devtool/server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  type ServerProcess,
  startServing,
} from "../durability/crash/server-process.ts";
import { EXPECTED, mismatches } from "./tck/behaviours.ts";
import type { Json } from "./tck/bindings.ts";

/** The kits' streaming timeout, shortened here. Waits are multiples of it. */
const TIMEOUT_S = 1;
const VERSION = { "a2a-version": "1.0" };
/** What our kit asks an agent to do, in behaviours of the profile. */
const PROMPTS = {
  says: "tck-artifact-text",
  ends: "tck-complete-task",
  asks: "tck-input-required",
  answers: "go on",
  "works-long": "tck-cancel",
  "works-a-while": "test-resubscribe-message-id",
  hook: "http://127.0.0.1:9/hook",
};

let process_: ServerProcess;
let url: string;

beforeAll(async () => {
  process_ = await startServing(["--profile", "tck", "--anonymous"], {
    ...process.env,
    TCK_STREAMING_TIMEOUT: String(TIMEOUT_S),
  });
  ({ url } = process_.info);
});
afterAll(() => process_.stop());

/** The answer of HTTP+JSON to a message, or how it is refused. */
async function send(
  message: Json,
  { at = url, headers = {}, ...more }: Json = {},
): Promise<Json> {
  const response = await fetch(`${at}/message:send`, {
    method: "POST",
    headers: { "content-type": "application/json", ...VERSION, ...headers },
    body: JSON.stringify({ message, ...more }),
  });
  const json: Json = await response.json();
  return response.ok
    ? json
    : { code: response.status, reason: json.error.details[0].reason };
}

describe("devtool serve --profile tck", () => {
  it.each(["JSONRPC", "HTTP+JSON", "GRPC"] as const)(
    "passes each case of our own kit over %s, but that it makes the ids that messages lack",
    { timeout: 120_000 },
    async (binding) => {
      const signal = AbortSignal.timeout(110_000);
      const results = await Array.fromAsync(
        runServerSuite(
          await findSubject(
            { url, token: "", protocolVersion: "1.0", binding },
            signal,
          ),
          signal,
          { only: "a2a/", prompts: PROMPTS },
        ),
      );
      const failed = results.filter(({ status }) => status === "failed");
      expect(failed.map(({ id }) => id)).toEqual(["a2a/required-fields"]);
      expect(
        results.filter(({ status }) => status === "passed").length,
      ).toBeGreaterThan(20);
    },
  );

  it.each(EXPECTED)(
    "plays $prefix, asked for by the id of a message (A2A TCK) or its text (ACTS)",
    async (expected) => {
      const { prefix } = expected;
      const byId = userMessage("Hello from TCK", `${prefix}-7f3a`);
      expect(mismatches(await send(byId), expected)).toEqual([]);
      const byText = {
        role: "ROLE_USER",
        parts: [{ text: `${prefix} hello` }],
      };
      expect(mismatches(await send(byText), expected)).toEqual([]);
    },
  );

  it.each([
    { text: "Hello", state: "TASK_STATE_COMPLETED" },
    {
      text: "tck-nonsense now",
      state: "TASK_STATE_FAILED",
      says: /"tck-nonsense" does not exist: choose .*tck-cancel/,
    },
  ])("ends the task of $text as $state", async ({ text, ...expected }) => {
    const answer = await send(userMessage(text, "tck-dm-test-001"));
    expect(mismatches(answer, { prefix: "", ...expected })).toEqual([]);
  });

  it("begins another task for the same id, since the kit's ids are the same in every test", async () => {
    const message = userMessage("Hello from TCK", "tck-complete-task-same");
    const [one, other] = [await send(message), await send(message)];
    expect(one.task.id).not.toBe(other.task.id);
  });

  it("takes a part of any media type, as the kit for 1.0.0 has it (CORE-SEND-003)", async () => {
    const parts = [
      { raw: "dGNr", mediaType: "application/x-unsupported-tck-type" },
    ];
    const { task } = await send({ ...userMessage("", "tck-send-003"), parts });
    expect(task.status.state).toBe("TASK_STATE_COMPLETED");
  });

  it.each([
    ["multi-turn", "more", "TASK_STATE_INPUT_REQUIRED"],
    ["multi-turn", "done", "TASK_STATE_COMPLETED"],
    ["auth-required", "I have signed in", "TASK_STATE_COMPLETED"],
  ])("goes on after tck-%s with %j to %s", async (prefix, text, state) => {
    const { task } = await send(userMessage(`tck-${prefix} start`));
    const next = await send({ ...userMessage(text), taskId: task.id });
    expect(next.task).toMatchObject({ id: task.id, status: { state } });
  });

  it("takes a method of 1.0 without a version, or with an empty one (VER-NEG-002 of ACTS, VER-SERVER-003)", async () => {
    const body = JSON.stringify({
      jsonrpc: "2.0",
      id: 7,
      method: "SendMessage",
      params: { message: userMessage("tck-complete-task version default") },
    });
    for (const version of [{}, { "a2a-version": "" }]) {
      const headers = { "content-type": "application/json", ...version };
      const answer = await fetch(url, { method: "POST", headers, body });
      const { result }: Json = await answer.json();
      expect(result.task.id).toMatch(/./);
    }
  });

  it("gives a card of 1.0 alone, which offers all and requires nothing (CARD-STRUCT-001)", async () => {
    const card: Json = await cardOf(url);
    expect(card.capabilities).toMatchObject({
      streaming: true,
      pushNotifications: true,
      extendedAgentCard: true,
    });
    const names = Object.keys(card).join(" ");
    expect(names).not.toMatch(/\b(url|protocolVersion|security\w*)\b/);
    expect(JSON.stringify(card)).not.toContain('"required":true');
  });
});

describe("who may call a server for a kit", () => {
  it("is a holder of the token, and anybody else only with --anonymous", async () => {
    const guarded = await startServing(["--profile", "tck"], {
      ...process.env,
      DEVTOOL_TOKEN: "itk-valid-token",
    });
    try {
      const { info } = guarded;
      expect(info.token).toBe("itk-valid-token");
      expect((await cardOf(info.url)).securityRequirements).toHaveLength(1);
      const statuses = ["", "Bearer itk-valid-token", "Bearer other"].map(
        (authorization) =>
          statusOf(info.url, authorization ? { authorization } : {}),
      );
      expect(await Promise.all(statuses)).toEqual([401, 200, 401]);
    } finally {
      await guarded.stop();
    }
  });

  it("is not a sender of wrong credentials or a web page, even with --anonymous", async () => {
    expect(await statusOf(url)).toBe(200);
    expect(await statusOf(url, { authorization: "Bearer wrong" })).toBe(401);
    expect(await statusOf(url, { origin: "https://evil.example" })).toBe(403);
  });

  it("sees nothing of the operator's tasks, approves nothing and reads no audit log", async () => {
    const authorization = `Bearer ${process_.info.token}`;
    const asked = userMessage("x", "tck-input-required");
    const { task } = await send(asked, { headers: { authorization } });
    const path = `/tasks/${task.id}`;
    expect(await statusOf(url, { authorization }, path)).toBe(200);
    expect(await statusOf(url, {}, path)).toBe(404);
    const call = async (
      method: string,
      type: string,
      body: string | Uint8Array<ArrayBuffer>,
    ) =>
      (
        await fetch(`${url}/devtool.v1alpha.${method}`, {
          method: "POST",
          headers: { "content-type": type },
          body,
        })
      ).text();
    const empty = new Uint8Array([0, 0, 0, 0, 2, 0x7b, 0x7d]);
    expect(
      await call("AuditService/ReadAudit", "application/connect+json", empty),
    ).toContain("permission_denied");
    expect(
      await call(
        "SlashCommandService/GetAllSlashCommands",
        "application/json",
        "{}",
      ),
    ).toBe("{}");
  });

  it("is never everybody where there are tools, or where other machines can call", async () => {
    await expect(serveCodingAgent({ anonymous: "admit" })).rejects.toThrow(
      "serve only agents that set servesAnonymous",
    );
    const agents = {
      test: createTckAgent({ ordinary: "completed", streamingTimeoutMs: 1 }),
    };
    const open = {
      anonymous: "admit" as const,
      agents,
      host: "0.0.0.0",
      token: "t",
    };
    await expect(createServer(open)).rejects.toThrow(
      "would admit other machines",
    );
    await expect(startServing(["--anonymous"])).rejects.toThrow(
      "before it was ready",
    );
  });
});

describe("devtool serve --profile acts", () => {
  let server: ServerProcess;
  beforeAll(async () => {
    server = await startServing(["--profile", "acts", "--anonymous"], {
      ...process.env,
      DEVTOOL_TOKEN: "itk-valid-token",
    });
  });
  afterAll(() => server.stop());
  const UNSUPPORTED = { code: 400, reason: "CONTENT_TYPE_NOT_SUPPORTED" };

  it.each<[Json, Json]>([
    [
      { raw: "dGNr", mediaType: "application/x-unsupported-tck-type" },
      UNSUPPORTED,
    ],
    [
      {
        data: { value: 1 },
        metadata: { contentType: "application/x-unsupported-type-12345" },
      },
      UNSUPPORTED,
    ],
    [
      { text: "tck-complete-task", mediaType: "text/markdown" },
      { task: expect.anything() },
    ],
  ])(
    "refuses media types that the card does not list, also in metadata (CORE-SEND-003, -004): %j",
    async (part, answer) => {
      const message = { ...userMessage(""), parts: [part] };
      expect(await send(message, { at: server.info.url })).toEqual(answer);
    },
  );

  it("keeps the extended card for callers that it knows (SEC-EXTCARD-001, CARD-EXT-001)", async () => {
    const { url: at } = server.info;
    const known = { authorization: "Bearer itk-valid-token" };
    expect(await statusOf(at, {}, "/extendedAgentCard")).toBe(401);
    expect(await statusOf(at, known, "/extendedAgentCard")).toBe(200);
    expect(await statusOf(at, {}, "/acme/extendedAgentCard")).toBe(401);
  });

  it("tells failures as A2A 1.0.1 has it", async () => {
    const { url: at } = server.info;
    const { task } = await send(userMessage("tck-complete-task"), { at });
    const cancel = await fetch(`${at}/tasks/${task.id}:cancel`, {
      method: "POST",
      headers: VERSION,
    });
    expect(cancel.status).toBe(400);
    const grpc = createClient(A2AService, createGrpcTransport({ baseUrl: at }));
    await expect(
      Array.fromAsync(
        grpc.subscribeToTask({ id: task.id }, { headers: VERSION }),
      ),
    ).rejects.toMatchObject({ code: 9 });
  });
});

describe("devtool serve --profile tck-0.3", () => {
  let server: ServerProcess;
  beforeAll(async () => {
    const env = { ...process.env, TCK_STREAMING_TIMEOUT: String(TIMEOUT_S) };
    server = await startServing(["--profile", "tck-0.3", "--anonymous"], env);
  });
  afterAll(() => server.stop());

  const rpc = async (method: string, params: Json): Promise<Json> => {
    const headers = { "content-type": "application/json" };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
    return (
      await fetch(`${server.info.url}/`, { method: "POST", headers, body })
    ).json();
  };
  const message = (
    text: string,
    messageId: string = crypto.randomUUID(),
    more: Json = {},
  ) => ({
    message: {
      kind: "message",
      messageId,
      role: "user",
      parts: [{ kind: "text", text }],
      ...more,
    },
  });

  it("has a card for 0.3 (test_agent_card_mandatory)", async () => {
    const card: Json = await (
      await fetch(`${server.info.url}/.well-known/agent-card.json`)
    ).json();
    expect(card).toMatchObject({
      protocolVersion: "0.3.0",
      url: `${server.info.url}/`,
      preferredTransport: "JSONRPC",
    });
  });

  it("answers a malformed JSON-RPC request with 200 and its code (test_rejects_invalid_json_rpc_requests, test_protocol_violations)", async () => {
    const rows: [unknown, number][] = [
      [{ jsonrpc: "aaa", id: 1, method: "message/send", params: {} }, -32600],
      [{ jsonrpc: "2.0", id: 1, params: {} }, -32600],
      [
        {
          jsonrpc: "2.0",
          id: { bad: "type" },
          method: "message/send",
          params: {},
        },
        -32600,
      ],
      [
        { jsonrpc: "2.0", id: 1, method: "nonexistent/method", params: {} },
        -32601,
      ],
      [
        { jsonrpc: "2.0", id: 1, method: "message/send", params: "not_a_dict" },
        -32602,
      ],
      [{ jsonrpc: "2.0", id: 1, method: "message/send", params: {} }, -32602],
      [
        '{"jsonrpc": "2.0", "method": "message/send", "params": {"foo": "bar"',
        -32700,
      ],
    ];
    for (const [asked, code] of rows) {
      const body = typeof asked === "string" ? asked : JSON.stringify(asked);
      const headers = { "content-type": "application/json" };
      const response = await fetch(`${server.info.url}/`, {
        method: "POST",
        headers,
        body,
      });
      const answer: Json = await response.json();
      expect([body, response.status, answer.error.code]).toEqual([
        body,
        200,
        code,
      ]);
    }
  });

  it("looks at the method of a request without an id first", async () => {
    const rows = [
      ["nonexistent/method", -32601],
      // A message that is not valid, which the kit looks for.
      ["message/send", -32602],
      ["tasks/get", -32600],
    ];
    for (const [method, code] of rows) {
      const body = JSON.stringify({ jsonrpc: "2.0", method, params: {} });
      const headers = { "content-type": "application/json" };
      const answer: Json = await (
        await fetch(`${server.info.url}/`, { method: "POST", headers, body })
      ).json();
      expect([method, answer.error.code, answer.id]).toEqual([
        method,
        code,
        null,
      ]);
    }
  });

  it("refuses the extended card without credentials", async () => {
    const body = JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "agent/getAuthenticatedExtendedCard",
    });
    const headers = { "content-type": "application/json" };
    const answers = [
      await fetch(`${server.info.url}/`, { method: "POST", headers, body }),
      await fetch(`${server.info.url}/v1/card`),
    ];
    for (const answer of answers) {
      expect([answer.status, answer.headers.get("www-authenticate")]).toEqual([
        401,
        "Bearer",
      ]);
    }
  });

  it("tells what is wrong with a stream as an event", async () => {
    const body = JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "tasks/resubscribe",
      params: { id: "none" },
    });
    const headers = {
      "content-type": "application/json",
      accept: "text/event-stream",
    };
    const answer = await fetch(`${server.info.url}/`, {
      method: "POST",
      headers,
      body,
    });
    expect(answer.headers.get("content-type")).toBe("text/event-stream");
    expect(await answer.text()).toMatch(/^data: .*"code":-32001.*\n\n$/);
  });

  it("takes a push config with an empty authentication", async () => {
    const { result } = await rpc("message/send", message("Hello from TCK!"));
    const pushNotificationConfig = {
      url: "http://127.0.0.1:9/hook",
      authentication: {},
    };
    const set = await rpc("tasks/pushNotificationConfig/set", {
      taskId: result.id,
      pushNotificationConfig,
    });
    expect(set.result).toMatchObject({
      taskId: result.id,
      pushNotificationConfig: { url: pushNotificationConfig.url },
    });
  });

  it("leaves ordinary tasks open, so that messages go on with them (test_message_send_continue_task, test_task_history_length)", async () => {
    const { result } = await rpc("message/send", message("Hello from TCK!"));
    expect(result).toMatchObject({
      kind: "task",
      status: { state: "input-required" },
    });
    for (const index of [1, 2, 3]) {
      const next = await rpc(
        "message/send",
        message(`Follow-up ${index}`, undefined, { taskId: result.id }),
      );
      expect(next.result).toMatchObject({
        id: result.id,
        status: { state: "input-required" },
      });
    }
    expect(
      (await rpc("tasks/get", { id: result.id, historyLength: 2 })).result
        .history,
    ).toHaveLength(2);
    expect(
      (await rpc("tasks/get", { id: result.id })).result.history,
    ).toHaveLength(4);
    expect(
      (await rpc("tasks/cancel", { id: result.id })).result.status.state,
    ).toBe("canceled");
    expect((await rpc("tasks/cancel", { id: result.id })).error.code).toBe(
      -32002,
    );
  });

  it("works on a task that is subscribed to anew (test_tasks_resubscribe)", async () => {
    const begun = {
      ...message("Test", "test-resubscribe-message-id-1"),
      configuration: { blocking: false },
    };
    const { id } = (await rpc("message/send", begun)).result;
    const frames = await framesOf(server.info.url, "tasks/resubscribe", { id });
    expect(frames[0]).toMatchObject({
      kind: "task",
      id,
      status: { state: "working" },
    });
    expect(frames.at(-1)).toMatchObject({
      kind: "status-update",
      final: true,
      status: { state: "completed" },
    });
  });

  it("tells artifacts, replies and refusals in the words of 0.3", async () => {
    const frames = await framesOf(
      server.info.url,
      "message/stream",
      message("tck-stream-chunked"),
    );
    expect(frames.map(({ kind }) => kind)).toEqual([
      "task",
      "status-update",
      "artifact-update",
      "artifact-update",
      "status-update",
    ]);
    expect(frames[3]).toMatchObject({
      artifact: {
        artifactId: "chunked",
        parts: [{ kind: "text", text: "in two chunks" }],
      },
      append: true,
      lastChunk: true,
    });
    const file = (await rpc("message/send", message("tck-artifact-file")))
      .result.artifacts[0];
    expect(file.parts).toEqual([
      {
        kind: "file",
        file: {
          name: "output.txt",
          mimeType: "text/plain",
          bytes: expect.stringMatching(/^R2Vu/),
        },
      },
    ]);
    const reply = {
      kind: "message",
      role: "agent",
      parts: [{ kind: "text", text: "Direct message response" }],
    };
    expect(
      (await rpc("message/send", message("tck-message-response"))).result,
    ).toMatchObject(reply);
    expect(
      await framesOf(
        server.info.url,
        "message/stream",
        message("tck-message-response"),
      ),
    ).toMatchObject([reply]);
    expect(
      (await rpc("message/send", message("tck-reject-task"))).result.status
        .state,
    ).toBe("rejected");
    expect(
      (await rpc("message/send", message("tck-auth-required"))).result.status
        .state,
    ).toBe("auth-required");
    const modes = {
      ...message("tck-artifact-text"),
      configuration: { acceptedOutputModes: ["image/png"] },
    };
    expect((await rpc("message/send", modes)).error.code).toBe(-32005);
  });
});

describe("docs/test-kits.md", () => {
  it("has the behaviours that there are, and those that are tested here, and the profiles", async () => {
    const text = await readFile(
      new URL("../../docs/test-kits.md", import.meta.url),
      "utf8",
    );
    const rows = [
      ...text.matchAll(/^\| ((?:`[\w-]+`(?:, )?)+) +\| /gm),
    ].flatMap(([, names = ""]) =>
      [...names.matchAll(/`([\w.-]+)`/g)].map(([, name = ""]) => name),
    );
    const prefixes = rows.filter((name) => /^(tck|test)-[a-z]/.test(name));
    expect(prefixes.toSorted()).toEqual(
      BEHAVIOURS.map(({ prefix }) => prefix).toSorted(),
    );
    // That one has no end to expect; a test of its own cancels it.
    expect(
      [...EXPECTED.map(({ prefix }) => prefix), "tck-cancel"].toSorted(),
    ).toEqual(prefixes.toSorted());
    for (const profile of PROFILES) expect(text).toContain(`| \`${profile}\``);
  });
});

describe("a server that is not for the kits (sabotage)", () => {
  it("does nothing that they ask for, and is guarded", async () => {
    await using server = await serveCodingAgent({ workspace: process.cwd() });
    expect(await statusOf(server.url)).toBe(401);
    const headers = { authorization: `Bearer ${server.token}` };
    const own = { at: server.url, headers };
    const wrong: string[] = [];
    for (const expected of EXPECTED) {
      const answer = await send(userMessage("Hello", expected.prefix), own);
      if (mismatches(answer, expected).length > 0) wrong.push(expected.prefix);
    }
    // The scripted agent completes whatever it is told, and its answer is an
    // artifact that none of them has.
    expect(wrong).toEqual(EXPECTED.map(({ prefix }) => prefix));
    const lacking = { role: "ROLE_USER", parts: [{ text: "x" }] };
    expect(await send(lacking, own)).toEqual({
      code: 400,
      reason: "INVALID_PARAMS",
    });
  });
});

function userMessage(
  text: string,
  messageId: string = crypto.randomUUID(),
): Json {
  return { messageId, role: "ROLE_USER", parts: [{ text }] };
}

async function cardOf(at: string): Promise<Json> {
  return (await fetch(`${at}/.well-known/agent-card.json`)).json();
}

async function statusOf(
  at: string,
  headers: Readonly<Record<string, string>> = {},
  path = "/tasks",
): Promise<number> {
  return (await fetch(at + path, { headers: { ...VERSION, ...headers } }))
    .status;
}

/** The frames of a stream of 0.3. */
async function framesOf(
  base: string,
  method: string,
  params: Json,
): Promise<Json[]> {
  const headers = {
    "content-type": "application/json",
    accept: "text/event-stream",
  };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
  const text = await (
    await fetch(`${base}/`, { method: "POST", headers, body })
  ).text();
  return [...text.matchAll(/^data: (.*)$/gm)].map(
    ([, data = ""]) => JSON.parse(data).result,
  );
}
