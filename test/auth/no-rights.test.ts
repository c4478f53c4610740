import type { DescService } from "@bufbuild/protobuf";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { textMessage } from "@devtool/client";
import { serveCodingAgent } from "@devtool/coding-agent";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import * as schema from "@devtool/schema";
import type { DevtoolServer } from "@devtool/server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { clientOf, transportOf } from "../client-of.ts";
import { createIssuer, type Issuer } from "./issuer.ts";

/** Services whose methods are a caller's own access, not its tasks. */
const OWN_ACCESS = new Set(["BrowserAccessService"]);

const EXPORTS: readonly unknown[] = Object.values(schema);
const SERVICES = EXPORTS.filter(isService);

const BODY = JSON.stringify({
  ...{ threadId: "t", runId: "r", tools: [], context: [], state: {} },
  messages: [{ id: "m", role: "user", content: "text x" }],
  forwardedProps: {},
});

describe("a caller whose roles give it nothing", () => {
  let issuer: Issuer;
  let server: DevtoolServer;
  let taskId: string;
  beforeAll(async () => {
    issuer = await createIssuer();
    server = await serveCodingAgent({
      workspace: temporaryDirectory(),
      dataDirectory: temporaryDirectory(),
      authentication: {
        jwt: { ...issuer.options, rolesClaim: "groups" },
        roles: [
          { role: "dev", rights: ["run"] },
          { role: "viewer", rights: ["read"] },
        ],
      },
    });
    const { task } = await clientOf(await as("dev")).tasks.sendMessage({
      message: textMessage("m", "text the words of ada"),
    });
    taskId = task?.id ?? "";
  });
  afterAll(() => server.close());

  const as = async (...groups: string[]) => ({
    url: server.url,
    token: await issuer.tokenFor("ada", undefined, { groups }),
  });

  it("is refused by each method of each service, as `devtool` of an operator is not", async () => {
    const transport = transportOf(await as());
    const codes: Record<string, string> = {};
    for (const service of SERVICES) {
      if (OWN_ACCESS.has(service.name)) continue;
      const client: Readonly<Record<string, unknown>> = createClient(
        service,
        transport,
      );
      for (const method of service.methods) {
        const call = client[method.localName];
        if (typeof call !== "function") throw new Error(method.name);
        const name = `${service.name}.${method.name}`;
        codes[name] = await codeOf(call({ taskId, request: { taskId } }));
      }
    }
    const denied = Object.keys(codes).map((name) => [name, "PermissionDenied"]);
    expect(denied.length).toBeGreaterThan(20);
    expect(codes).toEqual(Object.fromEntries(denied));
  });

  it.each([
    ["POST", "/ag-ui", BODY],
    ["GET", "/tasks/metadata", ""],
    ["GET", "/tasks/TASK/metadata", ""],
    ["POST", "/tasks", "{}"],
    ["GET", "/v1/tasks", ""],
    ["GET", "/v1/tasks/TASK", ""],
    ["DELETE", "/v1/tasks/TASK", ""],
    ["GET", "/tasks/TASK:subscribe", ""],
    ["GET", "/metrics", ""],
    ["GET", "/commands", ""],
    ["POST", "/executeCommand", '{"command":"help","args":[]}'],
    ["GET", "/agent/authenticatedExtendedCard", ""],
    ["GET", "/../../tasks.db", ""],
    ["GET", "/console/%2e%2e/%2e%2e/tasks.db", ""],
  ])("gets nothing of its tasks by %s %s", async (method, path, body) => {
    for (const groups of [[], ["nobody", "local", "*"]]) {
      const { url, token } = await as(...groups);
      const response = await fetch(`${url}${path.replace("TASK", taskId)}`, {
        method,
        headers: {
          authorization: `Bearer ${token}`,
          "content-type": "application/json",
          accept: "text/event-stream, application/json",
        },
        ...(body !== "" && { body }),
      });
      const text = await response.text();
      expect(text).not.toContain("the words of ada");
      if (response.status < 400) {
        expect(text).toMatch(
          /right .*(read|run).* is missing|"skills"|\[\]|<html/,
        );
      }
    }
  });

  it("may not change anything as a viewer, nor read what only the operator may", async () => {
    const { tasks, backups, audit } = clientOf(await as("viewer"));
    expect((await tasks.getTask({ taskId })).task?.id).toBe(taskId);
    for (const call of [
      () => tasks.deleteTask({ taskId }),
      () => tasks.renameTask({ taskId, title: "x" }),
      () => tasks.cancelTask({ taskId }),
      () => Array.fromAsync(backups.createBackup({})),
      () => Array.fromAsync(audit.readAudit({})),
    ]) {
      expect(await codeOf(call())).toBe("PermissionDenied");
    }
    const dev = clientOf(await as("dev"));
    expect(await codeOf(Array.fromAsync(dev.backups.createBackup({})))).toBe(
      "PermissionDenied",
    );
  });
});

function isService(value: unknown): value is DescService {
  return (
    typeof value === "object" &&
    value !== null &&
    "kind" in value &&
    value.kind === "service"
  );
}

/** Returns the code with which a call fails; `none` where it succeeds. */
async function codeOf(call: unknown): Promise<string> {
  try {
    if (isIterable(call)) for await (const _message of call);
    else await call;
    return "none";
  } catch (reason) {
    return Code[ConnectError.from(reason).code] ?? "";
  }
}

function isIterable(value: unknown): value is AsyncIterable<unknown> {
  return (
    typeof value === "object" && value !== null && Symbol.asyncIterator in value
  );
}
