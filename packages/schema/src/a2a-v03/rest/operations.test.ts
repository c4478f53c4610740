import type { JsonObject } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import type { RestCall } from "./operation.ts";
import { REST_OPERATIONS, restOperation } from "./operations.ts";

const PART = { kind: "text", text: "hi" };
const FILE = {
  kind: "file",
  file: { uri: "file:///a", mimeType: "text/plain" },
};
const DATA = {
  kind: "data",
  data: { data: { deep: [1, null] } },
  metadata: { a: 1 },
};
const MESSAGE = {
  kind: "message",
  messageId: "m",
  role: "user",
  parts: [PART, FILE, DATA],
  contextId: "c",
};
const SAID = { kind: "message", messageId: "m", role: "agent", parts: [PART] };
const STATUS = {
  state: "input-required",
  timestamp: "2026-11-21T00:00:00Z",
  message: SAID,
};
const ARTIFACT = {
  artifactId: "a",
  parts: [{ kind: "file", file: { bytes: "AA==", name: "x" } }],
};
const TASK = {
  kind: "task",
  id: "t",
  contextId: "c",
  status: STATUS,
  history: [MESSAGE, SAID],
  artifacts: [ARTIFACT],
};
const PUSH = {
  taskId: "t",
  pushNotificationConfig: { id: "p", url: "https://a/", token: "x" },
};
const SEND = {
  message: MESSAGE,
  configuration: {
    blocking: false,
    pushNotificationConfig: { url: "https://a/" },
  },
};

const STATES = [
  ["submitted", "TASK_STATE_SUBMITTED"],
  ["working", "TASK_STATE_WORKING"],
  ["completed", "TASK_STATE_COMPLETED"],
  ["failed", "TASK_STATE_FAILED"],
  ["canceled", "TASK_STATE_CANCELLED"],
  ["input-required", "TASK_STATE_INPUT_REQUIRED"],
  ["rejected", "TASK_STATE_REJECTED"],
  ["auth-required", "TASK_STATE_AUTH_REQUIRED"],
];

describe("a request in the HTTP+JSON binding of A2A 0.3", () => {
  it.each<[string, JsonObject, string]>([
    ["message/send", SEND, "POST /v1/message:send"],
    ["message/stream", SEND, "POST /v1/message:stream"],
    ["tasks/get", { id: "a/b:c ü" }, "GET /v1/tasks/a%2Fb%3Ac%20%C3%BC"],
    [
      "tasks/get",
      { id: "t", historyLength: "2" },
      "GET /v1/tasks/t?historyLength=2",
    ],
    ["tasks/cancel", { id: "t" }, "POST /v1/tasks/t:cancel"],
    ["tasks/resubscribe", { id: "t" }, "GET /v1/tasks/t:subscribe"],
    [
      "tasks/pushNotificationConfig/set",
      PUSH,
      "POST /v1/tasks/t/pushNotificationConfigs",
    ],
    [
      "tasks/pushNotificationConfig/list",
      { id: "t" },
      "GET /v1/tasks/t/pushNotificationConfigs",
    ],
    [
      "tasks/pushNotificationConfig/get",
      { id: "t", pushNotificationConfigId: "p" },
      "GET /v1/tasks/t/pushNotificationConfigs/p",
    ],
    [
      "tasks/pushNotificationConfig/delete",
      { id: "t", pushNotificationConfigId: "p" },
      "DELETE /v1/tasks/t/pushNotificationConfigs/p",
    ],
    ["agent/getAuthenticatedExtendedCard", {}, "GET /v1/card"],
    [
      "tasks/list",
      { contextId: "c", pageSize: "2" },
      "GET /v1/tasks?contextId=c&pageSize=2",
    ],
    ["commands/get", { context_id: "c" }, "GET /v1/commands?context_id=c"],
    [
      "commands/get",
      { metadata: { "a:b": { c: "d" } } },
      "GET /v1/commands?metadata=%7B%22a%3Ab%22%3A%7B%22c%22%3A%22d%22%7D%7D",
    ],
    [
      "command/execute",
      { command_path: ["stats"], context_id: "c" },
      "POST /v1/commands:execute",
    ],
  ])(
    "of %s has the body %j, and is read as it was written",
    (method, params, line) => {
      const call = restOperation(method).encodeCall(params);
      expect(`${call.httpMethod} ${call.path}`).toBe(line);
      expect(readAgain(call)).toEqual([
        { method, params: withoutKind(params) },
      ]);
    },
  );

  it("has the message, its role and its parts in ProtoJSON", () => {
    expect(restOperation("message/send").encodeCall(SEND).body).toEqual({
      message: {
        messageId: "m",
        contextId: "c",
        role: "ROLE_USER",
        content: [
          { text: "hi" },
          { file: { fileWithUri: "file:///a", mimeType: "text/plain" } },
          { data: { data: DATA.data }, metadata: { a: 1 } },
        ],
      },
      configuration: {
        blocking: false,
        pushNotification: { url: "https://a/" },
      },
    });
  });

  it.each<[string, JsonObject, JsonObject]>([
    ["that says nothing", { message: MESSAGE }, { blocking: true }],
    [
      "that says something else",
      { configuration: { historyLength: 1 } },
      { blocking: true, historyLength: 1 },
    ],
    [
      "that does not want to",
      { configuration: { blocking: false } },
      { blocking: false },
    ],
  ])(
    "waits for the end of the exchange by default: %s",
    (_who, params, configuration) => {
      expect(
        restOperation("message/send").encodeCall(params).body,
      ).toMatchObject({ configuration });
    },
  );

  it("keeps an unknown role, for the server to reject", () => {
    const call = restOperation("message/send").encodeCall({
      message: { role: "wizard", parts: [] },
    });
    expect(call.body).toMatchObject({ message: { role: "wizard" } });
  });

  it("sets a push config in an alternative form, which other servers read", () => {
    const { encodeCall, encodeOtherCall } = restOperation(
      "tasks/pushNotificationConfig/set",
    );
    const { config } = encodeCall(PUSH).body ?? {};
    const other = encodeOtherCall?.(PUSH);
    expect(other).toEqual({ ...encodeCall(PUSH), body: config });
    expect(other && readAgain(other)).toEqual([
      { method: "tasks/pushNotificationConfig/set", params: PUSH },
    ]);
    expect(restOperation("message/send").encodeOtherCall).toBeUndefined();
  });

  it("cannot be written without the ids of its path, or for a method without a path", () => {
    expect(() => restOperation("tasks/get").encodeCall({ id: "" })).toThrow(
      "id is missing",
    );
    expect(() => restOperation("tasks/none")).toThrow(
      'method "tasks/none" has no path',
    );
  });

  it("reads the other spelling of historyLength only if the first one is absent", () => {
    const { decodeParams } = restOperation("tasks/get");
    const read = (query: [string, string][]) =>
      decodeParams({ id: "t" }, { ...NOTHING, query: new Map(query) });
    expect(read([["history_length", "2"]])).toEqual({
      id: "t",
      historyLength: "2",
    });
    expect(
      read([
        ["historyLength", ""],
        ["history_length", "2"],
      ]),
    ).toEqual({ id: "t", historyLength: "" });
  });

  it("cannot be read if an id is not percent-encoded correctly", () => {
    const operation = restOperation("tasks/get");
    const ids = operation.match("tasks/%zz") ?? {};
    expect(() => operation.decodeParams(ids, NOTHING)).toThrow(
      'id "%zz" is not percent-encoded correctly',
    );
  });
});

describe("a response in the HTTP+JSON binding of A2A 0.3", () => {
  const answers: readonly JsonObject[] = [
    TASK,
    SAID,
    {
      kind: "status-update",
      taskId: "t",
      contextId: "c",
      status: STATUS,
      final: true,
      metadata: { a: 1 },
    },
    {
      kind: "artifact-update",
      taskId: "t",
      contextId: "c",
      artifact: ARTIFACT,
      append: true,
    },
  ];

  it.each(answers)(
    "is read as the $kind that was written, also in the form of JSON-RPC",
    (answer) => {
      const { encodeResult, decodeResult } = restOperation("message/stream");
      expect(Object.keys(Object(encodeResult(answer)))).toHaveLength(1);
      expect(JSON.stringify(encodeResult(answer))).not.toMatch(
        /"kind"|"input-required"|"agent"/,
      );
      expect(decodeResult(encodeResult(answer))).toEqual(answer);
      expect(decodeResult(answer)).toEqual(answer);
    },
  );

  it("may be in snake_case, with numbers for enums, and without default values", () => {
    const { decodeResult } = restOperation("message/stream");
    const update = { taskId: "t", status: { state: 5, update: { role: 2 } } };
    const read = {
      kind: "status-update",
      taskId: "t",
      final: false,
      status: { state: "canceled", message: EMPTY },
    };
    expect(decodeResult({ status_update: update })).toEqual(read);
    expect(decodeResult({ msg: { role: 2 } })).toEqual(EMPTY);
    expect(
      decodeResult({
        artifact_update: { artifact: { parts: [{ text: "" }] } },
      }),
    ).toEqual({
      kind: "artifact-update",
      artifact: { parts: [{ kind: "text", text: "" }] },
    });
    expect(decodeResult({ task: { id: "t", status: {} } })).toMatchObject({
      status: { state: "unknown" },
    });
  });

  it("is returned unchanged if neither a field nor its kind identifies it", () => {
    expect(restOperation("message/stream").decodeResult({ id: "t" })).toEqual({
      id: "t",
    });
  });

  it.each(STATES)("converts the state %s in both directions", (state, name) => {
    const { encodeResult, decodeResult } = restOperation("tasks/get");
    const task = { kind: "task", id: "t", status: { state } };
    expect(encodeResult(task)).toEqual({ id: "t", status: { state: name } });
    expect(decodeResult({ id: "t", status: { state: name } })).toEqual(task);
  });

  it("has push configs with a resource name of both ids, or in the form of JSON-RPC", () => {
    const { encodeResult, decodeResult } = restOperation(
      "tasks/pushNotificationConfig/list",
    );
    const { pushNotificationConfig } = PUSH;
    const written = {
      configs: [
        { name: "tasks/t/pushNotificationConfigs/p", pushNotificationConfig },
      ],
    };
    expect(encodeResult([PUSH])).toEqual(written);
    expect(decodeResult(written)).toEqual([PUSH]);
    expect(decodeResult([PUSH])).toEqual([PUSH]);
    expect(decodeResult({})).toEqual([]);
    const named = {
      name: "tasks/t/pushNotificationConfigs/p",
      push_notification_config: { url: "https://a/" },
    };
    expect(
      restOperation("tasks/pushNotificationConfig/get").decodeResult(named),
    ).toEqual({
      taskId: "t",
      pushNotificationConfig: { id: "p", url: "https://a/" },
    });
  });
});

const EMPTY = { kind: "message", role: "agent", parts: [] };
const NOTHING = { query: new Map(), body: {} };

function readAgain({ httpMethod, path, body = {} }: RestCall) {
  const [route = "", query] = path.split("?");
  const content = { query: new Map(new URLSearchParams(query)), body };
  return REST_OPERATIONS.flatMap(
    ({ method, httpMethods, match, decodeParams }) => {
      const ids = match(route.replace("/v1/", ""));
      return ids && httpMethods.includes(httpMethod)
        ? [{ method, params: decodeParams(ids, content) }]
        : [];
    },
  );
}

/**
 * In JSON-RPC, the parameters state the kind of the message; in ProtoJSON, the
 * field implies it.
 */
function withoutKind({ message, ...params }: JsonObject): JsonObject {
  const { kind: _kind, ...said } = Object(message);
  return { ...params, ...(message !== undefined && { message: said }) };
}
