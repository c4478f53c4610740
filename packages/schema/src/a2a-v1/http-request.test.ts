import { describe, expect, it } from "vitest";
import { A2AService } from "../gen/lf/a2a/v1/a2a_pb.ts";
import { httpCallOf, requestJson } from "./http-request.ts";
import { compileTemplate, httpBindingsOf } from "./http-rule.ts";

describe("a path template", () => {
  it.each([
    ["/tasks/{id=*}", "/tasks/t1", { id: "t1" }],
    ["/tasks/{id=*}", "/tasks/a%2Fb", { id: "a/b" }],
    ["/tasks/{id=*}", "/tasks/t1/more", undefined],
    ["/tasks/{id=*}:cancel", "/tasks/t1:cancel", { id: "t1" }],
    ["/tasks/{id=*}:cancel", "/tasks/t1", undefined],
    ["/{tenant}/tasks/{id=*}", "/acme/tasks/t1", { tenant: "acme", id: "t1" }],
    ["/v1/{name=tasks/*}", "/v1/tasks/t1", { name: "tasks/t1" }],
    [
      "/v1/{name=tasks/*}:subscribe",
      "/v1/tasks/t1:subscribe",
      { name: "tasks/t1" },
    ],
    [
      "/v1/{name=tasks/*/pushNotificationConfigs/*}",
      "/v1/tasks/t1/pushNotificationConfigs/p",
      { name: "tasks/t1/pushNotificationConfigs/p" },
    ],
    ["/files/{path=**}", "/files/a/b%2Fc", { path: "a/b%2Fc" }],
    ["/a.b/*", "/aXb/c", undefined],
  ])("%s matches %s with %j", (template, path, variables) => {
    const found = compileTemplate(template).match(path);
    expect(found && Object.fromEntries(found)).toEqual(variables);
  });
});

describe("the bindings of a method", () => {
  it("are those of its annotation, with and without a tenant", () => {
    const bindings = httpBindingsOf(A2AService.method.cancelTask);
    expect(
      bindings.map(({ httpMethod, template, body }) => [
        httpMethod,
        template,
        body,
      ]),
    ).toEqual([
      ["POST", "/tasks/{id=*}:cancel", "*"],
      ["POST", "/{tenant}/tasks/{id=*}:cancel", "*"],
    ]);
  });

  it("include POST for a stream with GET", () => {
    const bindings = httpBindingsOf(A2AService.method.subscribeToTask);
    expect(bindings.map(({ httpMethod }) => httpMethod)).toEqual([
      "GET",
      "POST",
      "GET",
      "POST",
    ]);
  });
});

describe("an HTTP request", () => {
  const { input } = A2AService.method.listTasks;
  const read = {
    httpMethod: "GET",
    template: "",
    body: "",
    ...compileTemplate(""),
  };

  it("takes fields from the query in both spellings, converted to their type, and ignores unknown ones", () => {
    const query = new URLSearchParams(
      "page_size=5&contextId=c&includeArtifacts=true&status=6&x=1",
    );
    expect(
      requestJson(input, read, {
        variables: new Map(),
        query,
        body: undefined,
      }),
    ).toEqual({
      pageSize: "5",
      contextId: "c",
      includeArtifacts: true,
      status: 6,
    });
  });

  it.each([
    ["pageSize=5&page_size=6", 'pageSize "6" is given twice: give it once'],
    ["contextId=a&contextId=a", 'contextId "a" is given twice: give it once'],
    [
      "id=a&configuration.historyLength=1&configuration.history_length=2",
      "configuration.historyLength",
    ],
  ])("rejects a field that the query %s gives twice", (text, problem) => {
    const schema = text.startsWith("id")
      ? A2AService.method.sendMessage.input
      : input;
    const query = new URLSearchParams(text);
    expect(() =>
      requestJson(schema, read, {
        variables: new Map(),
        query,
        body: undefined,
      }),
    ).toThrow(problem);
  });

  it("rejects a boolean that is neither true nor false", () => {
    const query = new URLSearchParams("includeArtifacts=yes");
    expect(() =>
      requestJson(input, read, {
        variables: new Map(),
        query,
        body: undefined,
      }),
    ).toThrow("true or false");
  });

  it("collects repeated parameters, sets nested fields, and lets the path override the body", () => {
    const { input: sending } = A2AService.method.sendMessage;
    const query = new URLSearchParams(
      "configuration.acceptedOutputModes=a&configuration.acceptedOutputModes=b",
    );
    expect(
      requestJson(sending, read, {
        variables: new Map(),
        query,
        body: undefined,
      }),
    ).toEqual({
      configuration: { acceptedOutputModes: ["a", "b"] },
    });
    const variables = new Map([["task_id", "t1"]]);
    const whole = { ...read, body: "*" };
    const { input: config } =
      A2AService.method.createTaskPushNotificationConfig;
    const parts = {
      variables,
      query: new URLSearchParams(),
      body: { task_id: "other", url: "u" },
    };
    expect(requestJson(config, whole, parts)).toEqual({
      taskId: "t1",
      url: "u",
    });
  });

  it("sets the field that the body holds", () => {
    const { input: sending } = A2AService.method.sendMessage;
    const parts = {
      variables: new Map<string, string>(),
      query: new URLSearchParams("tenant=t"),
      body: { messageId: "m" },
    };
    expect(requestJson(sending, { ...read, body: "message" }, parts)).toEqual({
      message: { messageId: "m" },
      tenant: "t",
    });
  });
});

describe("a call over HTTP", () => {
  const { method } = A2AService;

  it.each([
    [
      method.getTask,
      { id: "a/b", historyLength: 0 },
      "GET",
      "/tasks/a%2Fb?historyLength=0",
      undefined,
    ],
    [
      method.getTask,
      { id: "t1", tenant: "acme" },
      "GET",
      "/acme/tasks/t1",
      undefined,
    ],
    [
      method.listTasks,
      { contextId: "c&d", pageSize: 5 },
      "GET",
      "/tasks?contextId=c%26d&pageSize=5",
      undefined,
    ],
    [
      method.cancelTask,
      { id: "t1", metadata: { a: 1 } },
      "POST",
      "/tasks/t1:cancel",
      { metadata: { a: 1 } },
    ],
    [
      method.subscribeToTask,
      { id: "t1" },
      "GET",
      "/tasks/t1:subscribe",
      undefined,
    ],
    [
      method.sendMessage,
      { message: { messageId: "m" } },
      "POST",
      "/message:send",
      { message: { messageId: "m" } },
    ],
    [
      method.createTaskPushNotificationConfig,
      { taskId: "t1", url: "u" },
      "POST",
      "/tasks/t1/pushNotificationConfigs",
      { url: "u" },
    ],
    [
      method.deleteTaskPushNotificationConfig,
      { taskId: "t1", id: "p" },
      "DELETE",
      "/tasks/t1/pushNotificationConfigs/p",
      undefined,
    ],
  ])("of %s with %j is %s %s", (called, request, httpMethod, path, body) => {
    const call = httpCallOf(called, request);
    expect(call).toEqual({ httpMethod, path, body });
    const [pathname = "", query = ""] = call.path.split("?");
    const bindings = httpBindingsOf(called).filter(
      (binding) => binding.httpMethod === call.httpMethod,
    );
    const binding = bindings.find((item) => item.match(pathname) !== undefined);
    if (!binding) throw new Error(`nothing takes ${pathname}`);
    const variables = binding.match(pathname) ?? new Map();
    const read = requestJson(called.input, binding, {
      variables,
      query: new URLSearchParams(query),
      body: call.body,
    });
    const texts = (json: object) =>
      JSON.stringify(json, (_key, value) =>
        typeof value === "number" ? `${value}` : value,
      );
    expect(JSON.parse(texts(read))).toEqual(JSON.parse(texts(request)));
  });

  it("is rejected if an id of its path is missing", () => {
    expect(() => httpCallOf(method.getTask, { id: "" })).toThrow("GetTask");
  });
});
