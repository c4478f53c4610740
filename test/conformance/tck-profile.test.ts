import { readFile } from "node:fs/promises";
import { BEHAVIOURS, createTckAgent, PROFILES } from "@devtool/cli/testing";
import { serveCodingAgent } from "@devtool/coding-agent";
import { createServer } from "@devtool/server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { variantsOf } from "../depth.ts";
import {
  type ServerProcess,
  startServing,
} from "../durability/crash/server-process.ts";
import { receive } from "../push/receiver.ts";
import { EXPECTED, mismatches } from "./tck/behaviours.ts";
import {
  type Binding,
  bindingsOf,
  type Json,
  type Stream,
} from "./tck/bindings.ts";
import { cardViolations, elementViolations, violations } from "./tck/schema.ts";

/** The kits' streaming timeout, shortened here. Waits are multiples of it. */
const TIMEOUT_S = 1;
const NAMES = variantsOf(
  "bindings",
  ["JSON-RPC", "HTTP+JSON", "gRPC"] as const,
  2,
);

/** How each binding tells a failure in A2A 1.0.0. */
const CODES: Readonly<
  Record<string, Readonly<Record<Binding["name"], number>>>
> = {
  TASK_NOT_FOUND: { "JSON-RPC": -32001, "HTTP+JSON": 404, gRPC: 5 },
  TASK_NOT_CANCELABLE: { "JSON-RPC": -32002, "HTTP+JSON": 409, gRPC: 9 },
  UNSUPPORTED_OPERATION: { "JSON-RPC": -32004, "HTTP+JSON": 400, gRPC: 12 },
  CONTENT_TYPE_NOT_SUPPORTED: { "JSON-RPC": -32005, "HTTP+JSON": 415, gRPC: 3 },
  VERSION_NOT_SUPPORTED: { "JSON-RPC": -32009, "HTTP+JSON": 400, gRPC: 12 },
  INVALID_PARAMS: { "JSON-RPC": -32602, "HTTP+JSON": 400, gRPC: 3 },
};

let process_: ServerProcess;
let url: string;
let bindings: ReadonlyMap<string, Binding>;

beforeAll(async () => {
  process_ = await startServing(["--profile", "tck", "--anonymous"], {
    ...process.env,
    TCK_STREAMING_TIMEOUT: String(TIMEOUT_S),
  });
  ({ url } = process_.info);
  bindings = new Map(bindingsOf(url).map((binding) => [binding.name, binding]));
});
afterAll(() => process_.stop());

describe.concurrent.each(NAMES)(
  "devtool serve --profile tck over %s",
  (name) => {
    const binding = (): Binding => {
      const found = bindings.get(name);
      if (!found) throw new Error(`no binding ${name}`);
      return found;
    };
    const call = (
      method: string,
      params: Json,
      headers?: Readonly<Record<string, string>>,
    ) => binding().call(method, params, headers);
    const send = (message: Json, configuration?: Json) =>
      call("SendMessage", { message, ...(configuration && { configuration }) });
    const stream = (message: Json) =>
      binding().stream("SendStreamingMessage", { message });
    const refusal = (reason: string) => ({
      code: CODES[reason]?.[name],
      reason,
    });
    const taskIn = async (prefix: string, more: Json = {}): Promise<Json> =>
      (await send({ ...userMessage("TCK", prefix), ...more })).result.task;
    const get = async (id: string, more: Json = {}) =>
      (await call("GetTask", { id, ...more })).result;

    describe("plays what a message asks for", () => {
      it.each(EXPECTED)("by its id: $prefix (A2A TCK)", async (expected) => {
        const { result } = await send(
          userMessage("Hello from TCK", `${expected.prefix}-7f3a`),
        );
        expect(mismatches(result, expected)).toEqual([]);
      });

      it.each(EXPECTED)(
        "by its text, without an id: $prefix (ACTS)",
        async (expected) => {
          const { result } = await send({
            role: "ROLE_USER",
            parts: [{ text: `${expected.prefix} hello` }],
          });
          expect(mismatches(result, expected)).toEqual([]);
        },
      );

      it("and completes the task of one that asks for nothing", async () => {
        const { result } = await send(userMessage("Hello", "tck-dm-test-001"));
        expect(
          mismatches(result, { prefix: "", state: "TASK_STATE_COMPLETED" }),
        ).toEqual([]);
      });

      it("and fails the task of a text that names no behaviour, with those there are", async () => {
        const { result } = await send({
          role: "ROLE_USER",
          parts: [{ text: "tck-nonsense now" }],
        });
        const expected = {
          prefix: "",
          state: "TASK_STATE_FAILED",
          says: /"tck-nonsense" does not exist: choose .*tck-cancel/,
        };
        expect(mismatches(result, expected)).toEqual([]);
      });

      it("again and again: the ids of the kit are the same in every test (retries are off)", async () => {
        const message = userMessage("Hello from TCK", "tck-complete-task-same");
        const [one, other] = [await send(message), await send(message)];
        expect(one.result.task.id).not.toBe(other.result.task.id);
      });
    });

    describe("SendMessage", () => {
      it("waits for an end or an interruption, and answers at once when asked to (CORE-EXECUTION-MODE-001, -002)", async () => {
        const message = userMessage("probe", "tck-delayed-complete");
        expect(
          (await send(message, { returnImmediately: true })).result.task.status
            .state,
        ).toMatch(/SUBMITTED|WORKING/);
        expect(
          (await send(message, { returnImmediately: false })).result.task.status
            .state,
        ).toBe("TASK_STATE_COMPLETED");
      });

      it("gives a reply that names its conversation and no task (CORE-SEND-003 and DM-FMT-003 of ACTS)", async () => {
        const { result } = await send(
          userMessage("x", "tck-message-response"),
          { returnImmediately: true },
        );
        expect(Object.keys(result)).toEqual(["message"]);
        expect(result.message).toMatchObject({
          role: "ROLE_AGENT",
          contextId: expect.stringMatching(/./),
        });
        expect(result.message).not.toHaveProperty("taskId");
      });

      it("refuses a message to a task that has ended (CORE-SEND-002)", async () => {
        for (const prefix of [
          "tck-complete-task",
          "tck-reject-task",
          "tck-task-failure",
        ]) {
          const { id: taskId } = await taskIn(prefix);
          expect(
            (await send({ ...userMessage("again", prefix), taskId })).failure,
            prefix,
          ).toEqual(refusal("UNSUPPORTED_OPERATION"));
        }
      });

      it("takes a part of any media type, as the kit for 1.0.0 has it (CORE-SEND-003)", async () => {
        const parts = [
          { raw: "dGNr", mediaType: "application/x-unsupported-tck-type" },
        ];
        const { result } = await send({
          ...userMessage("", "tck-send-003"),
          parts,
        });
        expect(result.task.status.state).toBe("TASK_STATE_COMPLETED");
      });

      it("makes ids, takes the client's context, infers it from a task, and refuses another (CORE-MULTI-001a to -006)", async () => {
        const [one, other] = [
          await taskIn("tck-complete-task"),
          await taskIn("tck-complete-task"),
        ];
        expect(one.contextId).toMatch(/./);
        expect(one.id).not.toBe(other.id);
        expect(
          (
            await taskIn("tck-complete-task", {
              contextId: "tck-client-context",
            })
          ).contextId,
        ).toBe("tck-client-context");
        const waiting = await taskIn("tck-input-required");
        const inferred = await send({
          ...userMessage("go on", "tck-infer-ctx"),
          taskId: waiting.id,
        });
        expect(inferred.result.task).toMatchObject({
          id: waiting.id,
          contextId: waiting.contextId,
        });
        const wrong = {
          ...userMessage("no", "tck-mismatch"),
          contextId: "tck-wrong-context",
        };
        expect((await send({ ...wrong, taskId: other.id })).failure).toEqual(
          refusal("INVALID_PARAMS"),
        );
        expect(
          (await send({ ...wrong, taskId: "tck-nonexistent" })).failure,
        ).toEqual(refusal("TASK_NOT_FOUND"));
      });

      it("asks again in several turns until it is done (CORE-MULTI-001, CORE-MULTI-005 of ACTS)", async () => {
        const first = await taskIn("", {
          parts: [{ text: "tck-multi-turn start" }],
        });
        const turn = (text: string) =>
          send({ ...userMessage(text), taskId: first.id });
        expect(
          (await turn("here is more input")).result.task.status.state,
        ).toBe("TASK_STATE_INPUT_REQUIRED");
        expect((await turn("done")).result.task).toMatchObject({
          id: first.id,
          status: { state: "TASK_STATE_COMPLETED" },
        });
      });

      it("goes on after an authorization (AUTH-INTASK-001, -002)", async () => {
        const { id } = await taskIn("tck-auth-required");
        expect((await get(id)).status.state).toBe("TASK_STATE_AUTH_REQUIRED");
        const { result } = await send({
          ...userMessage("I have signed in"),
          taskId: id,
        });
        expect(result.task).toMatchObject({
          id,
          status: { state: "TASK_STATE_COMPLETED" },
        });
      });

      it("refuses what is missing, and another version (CORE-ERR-002, VER-SERVER-002, GRPC-ERR-002)", async () => {
        expect((await call("SendMessage", {})).failure).toEqual(
          refusal("INVALID_PARAMS"),
        );
        expect(
          (await send({ role: "ROLE_USER", parts: [{}] })).failure,
        ).toEqual(refusal("INVALID_PARAMS"));
        const message = userMessage("version test", "tck-ver-002");
        const { failure } = await call(
          "SendMessage",
          { message },
          { "a2a-version": "99.0" },
        );
        expect(failure).toEqual(refusal("VERSION_NOT_SUPPORTED"));
      });

      it("lets requests name extensions that it does not know (JSONRPC-SVC-002, HTTP_JSON-SVC-002, GRPC-META-001)", async () => {
        const headers = {
          "a2a-extensions":
            "https://example.com/ext/v1,https://example.com/ext/v2",
        };
        const { result } = await call(
          "SendMessage",
          { message: userMessage("x", "tck-svc-002") },
          headers,
        );
        expect(result.task.status.state).toBe("TASK_STATE_COMPLETED");
      });

      it("gives no answer to a client that accepts none of its media types, and leaves out artifacts that are not accepted", async () => {
        const configuration = { acceptedOutputModes: ["image/png", "audio/*"] };
        const { failure } = await send(
          userMessage("x", "tck-artifact-text"),
          configuration,
        );
        expect(failure).toEqual(refusal("CONTENT_TYPE_NOT_SUPPORTED"));
        const { result } = await send(userMessage("x", "tck-artifact-data"), {
          acceptedOutputModes: ["text/*"],
        });
        expect(result.task.artifacts ?? []).toEqual([]);
        expect(
          (
            await send(userMessage("x", "tck-artifact-data"), {
              acceptedOutputModes: ["data"],
            })
          ).result.task.artifacts,
        ).toHaveLength(1);
      });
    });

    describe("a stream", () => {
      it("begins with the task, tells all in order, and ends where the task does (CORE-STREAM-001, -003, STREAM-ORDER-001)", async () => {
        const elements = await all(
          await stream(userMessage("Stream", "tck-stream-003")),
        );
        expect(elements.map(kindOf)).toEqual([
          "task",
          "WORKING",
          "artifact",
          "COMPLETED",
        ]);
        expect(elements[2].artifactUpdate).toMatchObject({
          artifact: {
            artifactId: "text",
            parts: [{ text: "Generated text content" }],
          },
          lastChunk: true,
        });
        const plain = await all(
          await stream(userMessage("Stream", "tck-stream-002")),
        );
        expect(plain.map(kindOf)).toEqual(["task", "WORKING", "COMPLETED"]);
      });

      it("has only the message where that is the answer (CORE-STREAM-002, STREAM-MSG-001)", async () => {
        expect(
          await all(await stream(userMessage("x", "tck-message-response"))),
        ).toEqual([
          {
            message: expect.objectContaining({
              role: "ROLE_AGENT",
              parts: [{ text: "Direct message response" }],
            }),
          },
        ]);
      });

      it("adds chunks to an artifact (STREAM-SSE-003)", async () => {
        const elements = await all(
          await stream(userMessage("x", "tck-stream-artifact-chunked")),
        );
        const [one, two, ...none] = elements.flatMap(
          ({ artifactUpdate }) => artifactUpdate ?? [],
        );
        expect([
          one.append ?? false,
          one.lastChunk ?? false,
          two.append,
          two.lastChunk,
        ]).toEqual([false, false, true, true]);
        expect([one.artifact.artifactId, none]).toEqual([
          two.artifact.artifactId,
          [],
        ]);
      });

      it("of a task that waits stays open to its end, the same for all, whoever leaves (STREAM-SUB-001, -002, STREAM-ORDER-002 to -004)", async () => {
        const { id } = await taskIn("tck-input-required");
        const streams = await Promise.all(
          [1, 2, 3].map(() => binding().stream("SubscribeToTask", { id })),
        );
        const [leaving, ...staying] = streams;
        for await (const element of leaving?.elements ?? []) {
          expect(kindOf(element)).toBe("task");
          break;
        }
        leaving?.leave();
        const read = Promise.all(staying.map(all));
        await send({
          ...userMessage("Complete", "tck-complete-task"),
          taskId: id,
        });
        const [one = [], other] = await read;
        expect(one).toEqual(other);
        expect([kindOf(one[0]), kindOf(one.at(-1))]).toEqual([
          "task",
          "COMPLETED",
        ]);
      });

      it("can be taken up while the agent works (STREAM-SSE-004, test-resubscribe-message-id)", async () => {
        const { id } = (
          await send(userMessage("x", "test-resubscribe-message-id"), {
            returnImmediately: true,
          })
        ).result.task;
        const elements = await all(
          await binding().stream("SubscribeToTask", { id }),
        );
        expect([kindOf(elements[0]), kindOf(elements.at(-1))]).toEqual([
          "task",
          "COMPLETED",
        ]);
      });

      it("is refused for a task that has ended, and for one that does not exist (STREAM-SUB-003, -004)", async () => {
        const { id } = await taskIn("tck-complete-task");
        const failureOf = async (taskId: string) =>
          (await binding().stream("SubscribeToTask", { id: taskId })).failure;
        expect(await failureOf(id)).toEqual(refusal("UNSUPPORTED_OPERATION"));
        expect(await failureOf("tck-nonexistent-sub-004")).toEqual(
          refusal("TASK_NOT_FOUND"),
        );
      });
    });

    describe("tasks", () => {
      it("are returned with their artifacts, and with as much of their history as is asked for (CORE-GET-001, CORE-HIST-001 to -006)", async () => {
        const { id } = await taskIn("tck-input-required", {
          parts: [{ text: "first" }],
        });
        const followUp = userMessage("second", "tck-artifact-text");
        const none = await send(
          { ...followUp, taskId: id },
          { historyLength: 0 },
        );
        expect(none.result.task.history ?? []).toEqual([]);
        const task = await get(id);
        expect(task).toMatchObject({
          id,
          status: { state: "TASK_STATE_COMPLETED" },
        });
        expect(task.artifacts).toHaveLength(1);
        expect(task.history.map(({ parts }: Json) => parts[0].text)).toEqual([
          "first",
          "second",
        ]);
        expect((await get(id, { historyLength: 0 })).history ?? []).toEqual([]);
        expect((await get(id, { historyLength: 1 })).history).toHaveLength(1);
      });

      it("that do not exist are reported as missing (CORE-GET-002, CORE-CANCEL-003, GRPC-ERR-001)", async () => {
        const missing = { id: "tck-nonexistent-get-002" };
        expect((await call("GetTask", missing)).failure).toEqual(
          refusal("TASK_NOT_FOUND"),
        );
        expect((await call("CancelTask", missing)).failure).toEqual(
          refusal("TASK_NOT_FOUND"),
        );
      });

      it("are canceled while they work or wait, and not when they have ended (CORE-CANCEL-001, -002)", async () => {
        const begun = await send(userMessage("x", "tck-cancel"), {
          returnImmediately: true,
        });
        const ids = [
          begun.result.task.id,
          (await taskIn("tck-input-required")).id,
        ];
        for (const id of ids) {
          expect((await call("CancelTask", { id })).result).toMatchObject({
            id,
            status: { state: "TASK_STATE_CANCELED" },
          });
          expect((await call("CancelTask", { id })).failure).toEqual(
            refusal("TASK_NOT_CANCELABLE"),
          );
        }
      });

      it("are listed by pages, the latest first, artifacts only on request (CORE-LIST-001 to -005)", async () => {
        const contextId = `tck-list-${name}`;
        const made: string[] = [];
        for (const prefix of [
          "tck-artifact-text",
          "tck-complete-task",
          "tck-artifact-data",
        ]) {
          made.unshift((await taskIn(prefix, { contextId })).id);
        }
        const list = async (more: Json) =>
          (await call("ListTasks", { contextId, ...more })).result;
        const first = await list({ pageSize: 2 });
        expect(first.nextPageToken).toMatch(/./);
        const second = await list({
          pageSize: 2,
          pageToken: first.nextPageToken,
        });
        expect(second.nextPageToken ?? "").toBe("");
        if (name !== "gRPC") expect(second).toHaveProperty("nextPageToken", "");
        expect(
          [...first.tasks, ...second.tasks].map(({ id }: Json) => id),
        ).toEqual(made);
        for (const task of (await list({ includeArtifacts: false })).tasks) {
          expect(task).not.toHaveProperty("artifacts");
        }
        const whole = await list({ includeArtifacts: true });
        expect(
          whole.tasks.map(({ artifacts = [] }: Json) => artifacts.length),
        ).toEqual([1, 0, 1]);
        for (const pageSize of [0, 101]) {
          expect(
            (await call("ListTasks", { contextId, pageSize })).failure,
          ).toEqual(refusal("INVALID_PARAMS"));
        }
      });
    });

    describe("notifications", () => {
      it("are configured per task, also of one that has ended, under the client's id (PUSH-CREATE, -GET, -LIST, -DEL)", async () => {
        const { id: taskId } = await taskIn("tck-complete-task");
        const config = {
          id: "tck-push-1",
          url: "https://example.com/tck-push-webhook",
        };
        const created = await call("CreateTaskPushNotificationConfig", {
          taskId,
          ...config,
        });
        expect(created.result).toMatchObject(config);
        const one = { taskId, id: config.id };
        expect(
          (await call("GetTaskPushNotificationConfig", one)).result,
        ).toMatchObject(config);
        expect(
          (await call("ListTaskPushNotificationConfigs", { taskId })).result
            .configs,
        ).toHaveLength(1);
        for (const _time of [1, 2]) {
          expect(
            (await call("DeleteTaskPushNotificationConfig", one)).failure,
          ).toBeUndefined();
        }
        expect(
          (await call("GetTaskPushNotificationConfig", one)).failure,
        ).toEqual(refusal("TASK_NOT_FOUND"));
      });

      it("are posted to this machine as elements of a stream, with the credentials (PUSH-DELIVER-001 to -003)", async () => {
        await using receiver = await receive();
        const authentication = {
          scheme: "Bearer",
          credentials: "tck-test-token",
        };
        const taskPushNotificationConfig = {
          id: "tck-push-2",
          url: receiver.url,
          authentication,
        };
        const asked = await send(userMessage("x", "tck-input-required"), {
          taskPushNotificationConfig,
        });
        const { id: taskId } = asked.result.task;
        await send({ ...userMessage("x", "tck-artifact-text"), taskId });
        await receiver.reached(6);
        const posts = receiver.received.map(({ headers, body }) => ({
          headers,
          json: JSON.parse(body),
        }));
        expect(posts.map(({ headers }) => headers.authorization)).toEqual(
          posts.map(() => "Bearer tck-test-token"),
        );
        expect(posts.map(({ json }) => kindOf(json))).toEqual(
          expect.arrayContaining([
            "task",
            "INPUT_REQUIRED",
            "artifact",
            "COMPLETED",
          ]),
        );
      });
    });

    it("serves the extended card to all callers that it admits (CARD-EXT-001)", async () => {
      expect((await call("GetExtendedAgentCard", {})).result.name).toBe(
        "devtool test agent",
      );
    });

    it("answers in messages of the standard, with all that is required and nothing else (DM-TASK-001 to DM-STATUS-001, DM-SERIAL-004)", async () => {
      const answersOf = async ({ prefix }: { readonly prefix: string }) => {
        const [{ result }, elements] = await Promise.all([
          send(userMessage("x", prefix)),
          stream(userMessage("x", prefix)).then((answered) => all(answered)),
        ]);
        return [
          prefix,
          ...violations("SendMessage", result),
          ...elements.flatMap(elementViolations),
        ];
      };
      expect(await Promise.all(EXPECTED.map(answersOf))).toEqual(
        EXPECTED.map(({ prefix }) => [prefix]),
      );
      const { id } = await taskIn("tck-artifact-file");
      expect(violations("GetTask", await get(id))).toEqual([]);
      const list = (await call("ListTasks", { includeArtifacts: true })).result;
      // What gRPC leaves out because it is empty, JSON must say.
      if (name !== "gRPC") {
        const said = ["tasks", "nextPageToken", "pageSize", "totalSize"];
        expect(said.filter((field) => !(field in list))).toEqual([]);
      }
      for (const task of list.tasks) {
        expect(violations("GetTask", task)).toEqual([]);
      }
    });

    it("writes names, enums, times and media types as the standard has them (DM-SERIAL-001 to -003, JSONRPC-FMT-002)", async () => {
      if (name === "gRPC") return;
      const { result, contentType } = await send(
        userMessage("x", "tck-artifact-file"),
      );
      const text = JSON.stringify(result);
      expect(contentType).toContain("application/json");
      expect(text.match(/"[a-z]+(_[a-z]+)+":/g) ?? []).toEqual([]);
      expect(text).not.toContain('"kind":');
      expect(result.task.status.timestamp).toMatch(
        /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?Z$/,
      );
      expect(result.task.history[0].role).toBe("ROLE_USER");
      const answered: Stream = await stream(userMessage("x", "tck-stream-001"));
      expect(answered.contentType).toContain("text/event-stream");
      answered.leave();
    });
  },
);

describe("what the kit asks of JSON-RPC and HTTP+JSON alone", () => {
  const version = { "a2a-version": "1.0" };
  const post = (
    path: string,
    body: string,
    headers: Readonly<Record<string, string>>,
  ) => fetch(url + path, { method: "POST", headers, body });
  const rpc = async (
    body: string,
    headers: Readonly<Record<string, string>> = version,
  ): Promise<Json> =>
    (
      await post("/", body, { "content-type": "application/json", ...headers })
    ).json();
  const request = (method: string, params: Json): string =>
    JSON.stringify({ jsonrpc: "2.0", id: 7, method, params });

  it("reports failures with an ErrorInfo, and with its own codes for malformed requests (JSONRPC-ERR-001 to -003, CORE-ERR-006)", async () => {
    const { error, id } = await rpc(
      request("GetTask", { id: "tck-nonexistent" }),
    );
    expect([id, Object.keys(error)]).toEqual([7, ["code", "message", "data"]]);
    expect(error.data[0]).toEqual({
      "@type": "type.googleapis.com/google.rpc.ErrorInfo",
      reason: "TASK_NOT_FOUND",
      domain: "a2a-protocol.org",
      metadata: { taskId: "tck-nonexistent" },
    });
    expect((await rpc(request("NonExistentMethod", {}))).error.code).toBe(
      -32601,
    );
    expect((await rpc("{this is not valid json")).error.code).toBe(-32700);
    expect((await rpc('{"jsonrpc":"2.0","id":1,"params":{}}')).error.code).toBe(
      -32600,
    );
  });

  it("tells failures of HTTP+JSON as AIP-193 has it (HTTP_JSON-ERR-001, -002)", async () => {
    const response = await fetch(`${url}/tasks/tck-nonexistent`, {
      headers: version,
    });
    expect(response.headers.get("content-type")).toContain("application/json");
    const { error }: Json = await response.json();
    expect([
      response.status,
      error.code,
      error.status,
      typeof error.message,
    ]).toEqual([404, 404, "NOT_FOUND", "string"]);
    expect(error.details[0]).toMatchObject({
      reason: "TASK_NOT_FOUND",
      domain: "a2a-protocol.org",
    });
  });

  it("refuses a body of another media type by its own error (HTTP_JSON-STATUS-001, JSONRPC-SSE-002)", async () => {
    const message = userMessage("x", "tck-ct");
    const wrong = { ...version, "content-type": "text/plain" };
    const rest = await post(
      "/message:send",
      JSON.stringify({ message }),
      wrong,
    );
    expect([
      rest.status,
      JSON.parse(await rest.text()).error.details[0].reason,
    ]).toEqual([415, "CONTENT_TYPE_NOT_SUPPORTED"]);
    expect(
      (await rpc(request("SendMessage", { message }), wrong)).error,
    ).toMatchObject({
      code: -32005,
      data: [{ reason: "CONTENT_TYPE_NOT_SUPPORTED" }],
    });
    const older = await post("/", request("message/send", {}), {
      "content-type": "text/plain",
    });
    expect(JSON.parse(await older.text()).error.code).toBe(-32600);
  });

  it("ignores fields that it does not know (DM-SERIAL-005)", async () => {
    const message = {
      ...userMessage("x", "tck-dm-serial-005"),
      tckUnknownField: "should-be-ignored",
    };
    expect(
      (await rpc(request("SendMessage", { message, tckExtraParam: 42 }))).result
        .task.status.state,
    ).toBe("TASK_STATE_COMPLETED");
  });

  it("takes a method of 1.0 without a version, or with an empty one (VER-NEG-002 of ACTS, VER-SERVER-003)", async () => {
    const body = request("SendMessage", {
      message: userMessage("tck-complete-task version default"),
    });
    expect((await rpc(body, {})).result.task.id).toMatch(/./);
    expect((await rpc(body, { "a2a-version": "" })).result.task.id).toMatch(
      /./,
    );
  });

  it("gives a card of 1.0 alone that can be cached (CARD-DISC-001 to CARD-STRUCT-001, CARD-CACHE-001 to -003)", async () => {
    const response = await fetch(`${url}/.well-known/agent-card.json`);
    expect(response.headers.get("cache-control")).toContain("max-age");
    expect(response.headers.get("etag")).toMatch(/^"/);
    expect(
      Date.parse(response.headers.get("last-modified") ?? ""),
    ).toBeLessThanOrEqual(Date.now());
    const card: Json = await response.json();
    expect(cardViolations(card)).toEqual([]);
    expect(card).toMatchObject({
      name: expect.any(String),
      description: expect.any(String),
      version: expect.any(String),
      defaultInputModes: expect.any(Array),
      defaultOutputModes: expect.any(Array),
      skills: expect.any(Array),
      capabilities: {
        streaming: true,
        pushNotifications: true,
        extendedAgentCard: true,
      },
    });
    for (const name of [
      "url",
      "protocolVersion",
      "preferredTransport",
      "security",
      "securitySchemes",
      "securityRequirements",
    ]) {
      expect(card).not.toHaveProperty(name);
    }
    const offered = card.supportedInterfaces.filter(
      ({ protocolVersion }: Json) => protocolVersion === "1.0",
    );
    expect(offered.map(({ protocolBinding }: Json) => protocolBinding)).toEqual(
      ["JSONRPC", "HTTP+JSON", "GRPC"],
    );
    expect(
      card.capabilities.extensions.every(
        ({ required = false }: Json) => !required,
      ),
    ).toBe(true);
  });
});

describe("who may call a server for a kit", () => {
  it("is a holder of the token, and anybody else only with --anonymous", async () => {
    const guarded = await startServing(["--profile", "tck"], {
      ...process.env,
      DEVTOOL_TOKEN: "itk-valid-token",
    });
    try {
      expect(guarded.info.token).toBe("itk-valid-token");
      const card: Json = await (
        await fetch(`${guarded.info.url}/.well-known/agent-card.json`)
      ).json();
      expect(card.securityRequirements).toHaveLength(1);
      const statuses = ["", "Bearer itk-valid-token", "Bearer other"].map(
        async (authorization) => {
          const headers = {
            "a2a-version": "1.0",
            ...(authorization && { authorization }),
          };
          return (await fetch(`${guarded.info.url}/tasks`, { headers })).status;
        },
      );
      expect(await Promise.all(statuses)).toEqual([401, 200, 401]);
    } finally {
      await guarded.stop();
    }
  });

  it("is not a sender of wrong credentials, a web page, or a client of another host, even with --anonymous", async () => {
    const statusOf = async (headers: Readonly<Record<string, string>>) =>
      (
        await fetch(`${url}/tasks`, {
          headers: { "a2a-version": "1.0", ...headers },
        })
      ).status;
    expect(await statusOf({})).toBe(200);
    expect(await statusOf({ authorization: "Bearer wrong" })).toBe(401);
    expect(await statusOf({ origin: "https://evil.example" })).toBe(403);
  });

  it("sees nothing of the operator's tasks, approves nothing and reads no audit log", async () => {
    const operator = bindingsOf(url, {
      authorization: `Bearer ${process_.info.token}`,
    });
    const { result } = await at(operator, "HTTP+JSON").call("SendMessage", {
      message: userMessage("x", "tck-input-required"),
    });
    const { id } = result.task;
    expect(
      (await at(operator, "HTTP+JSON").call("GetTask", { id })).result.id,
    ).toBe(id);
    expect(
      (await at(bindingsOf(url), "HTTP+JSON").call("GetTask", { id })).failure
        ?.reason,
    ).toBe("TASK_NOT_FOUND");
    const headers = { "content-type": "application/json" };
    const audit = await fetch(`${url}/devtool.v1alpha.AuditService/ReadAudit`, {
      method: "POST",
      headers: { "content-type": "application/connect+json" },
      body: new Uint8Array([0, 0, 0, 0, 2, 0x7b, 0x7d]),
    });
    expect(await audit.text()).toContain("permission_denied");
    const commands = await fetch(
      `${url}/devtool.v1alpha.SlashCommandService/GetAllSlashCommands`,
      {
        method: "POST",
        headers,
        body: "{}",
      },
    );
    expect(await commands.json()).toEqual({});
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
  const json = (headers: Readonly<Record<string, string>> = {}) =>
    at(bindingsOf(server.info.url, headers), "HTTP+JSON");

  it("refuses media types that the card does not list, also in metadata (CORE-SEND-004, CORE-SEND-003 of the newer TCK)", async () => {
    const refused = { code: 400, reason: "CONTENT_TYPE_NOT_SUPPORTED" };
    const raw = [
      { raw: "dGNr", mediaType: "application/x-unsupported-tck-type" },
    ];
    expect(
      (
        await json().call("SendMessage", {
          message: { ...userMessage(""), parts: raw },
        })
      ).failure,
    ).toEqual(refused);
    const data = [
      {
        data: { value: 1 },
        metadata: { contentType: "application/x-unsupported-type-12345" },
      },
    ];
    expect(
      (
        await json().call("SendMessage", {
          message: { ...userMessage(""), parts: data },
        })
      ).failure,
    ).toEqual(refused);
    const text = [{ text: "tck-complete-task", mediaType: "text/markdown" }];
    expect(
      (
        await json().call("SendMessage", {
          message: { ...userMessage(""), parts: text },
        })
      ).result.task,
    ).toBeDefined();
  });

  it("keeps the extended card for callers that it knows (SEC-EXTCARD-001, CARD-EXT-001)", async () => {
    const response = await fetch(`${server.info.url}/extendedAgentCard`, {
      headers: { "a2a-version": "1.0" },
    });
    expect(response.status).toBe(401);
    const known = json({ authorization: "Bearer itk-valid-token" });
    expect(
      (await known.call("GetExtendedAgentCard", {})).result.skills.length,
    ).toBeGreaterThan(0);
    const tenant = await fetch(`${server.info.url}/acme/extendedAgentCard`, {
      headers: { "a2a-version": "1.0" },
    });
    expect(tenant.status).toBe(401);
  });

  it("tells failures as A2A 1.0.1 has it", async () => {
    const { result } = await json().call("SendMessage", {
      message: userMessage("tck-complete-task"),
    });
    const { id } = result.task;
    expect((await json().call("CancelTask", { id })).failure?.code).toBe(400);
    const grpc = at(bindingsOf(server.info.url), "gRPC");
    expect((await grpc.stream("SubscribeToTask", { id })).failure).toEqual({
      code: 9,
      reason: "UNSUPPORTED_OPERATION",
    });
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
    expect((await fetch(`${server.url}/tasks`)).status).toBe(401);
    const binding = at(
      bindingsOf(server.url, { authorization: `Bearer ${server.token}` }),
      "HTTP+JSON",
    );
    const wrong: string[] = [];
    for (const expected of EXPECTED) {
      const { result } = await binding.call("SendMessage", {
        message: userMessage("Hello", expected.prefix),
      });
      if (mismatches(result, expected).length > 0) wrong.push(expected.prefix);
    }
    // The scripted agent completes whatever it is told, and its answer is an
    // artifact that none of them has.
    expect(wrong.toSorted()).toEqual(
      EXPECTED.map(({ prefix }) => prefix).toSorted(),
    );
    expect(
      cardViolations(
        await (await fetch(`${server.url}/.well-known/agent-card.json`)).json(),
      ),
    ).not.toEqual([]);
    const without = await binding.call("SendMessage", {
      message: { role: "ROLE_USER", parts: [{ text: "x" }] },
    });
    expect(without.failure).toEqual({ code: 400, reason: "INVALID_PARAMS" });
  });
});

function userMessage(
  text: string,
  messageId: string = crypto.randomUUID(),
): Json {
  return { messageId, role: "ROLE_USER", parts: [{ text }] };
}

async function all({ elements }: Stream): Promise<Json[]> {
  const found: Json[] = [];
  for await (const element of elements) found.push(element);
  return found;
}

/** The kind of an element of a stream, in one word. */
function kindOf(element: Json): string {
  if (element?.statusUpdate) {
    return element.statusUpdate.status.state.replace("TASK_STATE_", "");
  }
  if (element?.artifactUpdate) return "artifact";
  return Object.keys(element ?? {})[0] ?? "nothing";
}

function at(bindings: readonly Binding[], name: Binding["name"]): Binding {
  const found = bindings.find((binding) => binding.name === name);
  if (!found) throw new Error(`no binding ${name}`);
  return found;
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
