import { A2AService } from "@devtool/schema/a2a-v1";
import { describe, expect, it } from "vitest";
import { requestJson } from "./http-request.ts";
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
    ["/v1/{name=tasks/*}:subscribe", "/v1/tasks/t1:subscribe", { name: "tasks/t1" }],
    [
      "/v1/{name=tasks/*/pushNotificationConfigs/*}",
      "/v1/tasks/t1/pushNotificationConfigs/p",
      { name: "tasks/t1/pushNotificationConfigs/p" },
    ],
    ["/files/{path=**}", "/files/a/b%2Fc", { path: "a/b%2Fc" }],
    ["/a.b/*", "/aXb/c", undefined],
  ])("%s takes %s as %j", (template, path, variables) => {
    const found = compileTemplate(template)(path);
    expect(found && Object.fromEntries(found)).toEqual(variables);
  });
});

describe("the bindings of a method", () => {
  it("are those that its annotation names, with and without a tenant", () => {
    const bindings = httpBindingsOf(A2AService.method.cancelTask);
    expect(bindings.map(({ httpMethod, template, body }) => [httpMethod, template, body])).toEqual([
      ["POST", "/tasks/{id=*}:cancel", "*"],
      ["POST", "/{tenant}/tasks/{id=*}:cancel", "*"],
    ]);
  });

  it("give a stream that is had by GET to POST as well", () => {
    const bindings = httpBindingsOf(A2AService.method.subscribeToTask);
    expect(bindings.map(({ httpMethod }) => httpMethod)).toEqual(["GET", "POST", "GET", "POST"]);
  });
});

describe("a request of HTTP", () => {
  const { input } = A2AService.method.listTasks;
  const read = { httpMethod: "GET", template: "", body: "", match: () => undefined };

  it("takes its fields from the query in both spellings, each as its type asks, and leaves out what is no field", () => {
    const query = new URLSearchParams("page_size=5&contextId=c&includeArtifacts=true&status=6&x=1");
    expect(requestJson(input, read, { variables: new Map(), query, body: undefined })).toEqual({
      pageSize: "5",
      contextId: "c",
      includeArtifacts: true,
      status: 6,
    });
  });

  it("refuses a truth that is neither true nor false", () => {
    const query = new URLSearchParams("includeArtifacts=yes");
    expect(() => requestJson(input, read, { variables: new Map(), query, body: undefined })).toThrow("true or false");
  });

  it("collects repeated parameters, reaches into messages, and lets the path overrule the body", () => {
    const { input: sending } = A2AService.method.sendMessage;
    const query = new URLSearchParams("configuration.acceptedOutputModes=a&configuration.acceptedOutputModes=b");
    expect(requestJson(sending, read, { variables: new Map(), query, body: undefined })).toEqual({
      configuration: { acceptedOutputModes: ["a", "b"] },
    });
    const variables = new Map([["task_id", "t1"]]);
    const whole = { ...read, body: "*" };
    const { input: config } = A2AService.method.createTaskPushNotificationConfig;
    const parts = { variables, query: new URLSearchParams(), body: { task_id: "other", url: "u" } };
    expect(requestJson(config, whole, parts)).toEqual({ taskId: "t1", url: "u" });
  });

  it("puts a body that holds one field there", () => {
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
