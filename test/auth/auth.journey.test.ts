import { existsSync } from "node:fs";
import { join } from "node:path";
import { Code, createClient } from "@connectrpc/connect";
import { pendingToolCalls } from "@devtool/client";
import { codexQueues } from "@devtool/codex/queues";
import { serveCodingAgent } from "@devtool/coding-agent";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import {
  AuditAction,
  type AuditRecord,
  EXTENSION_URI,
  type Task,
  TaskState,
} from "@devtool/schema";
import { ReviewDecision, SessionService } from "@devtool/schema/codex";
import { type DevtoolServer, defaultDialects } from "@devtool/server";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Conversation } from "../audit/conversation.ts";
import { transportOf } from "../client-of.ts";
import { ClientStream } from "../codex/sq-eq/client-stream.ts";
import { createIssuer, type Issuer } from "./issuer.ts";

const signal = AbortSignal.timeout(300_000);
const APPROVE = "devtool.approve";
const WRITE = "write made.txt hello";

describe("callers with a token of an issuer", () => {
  let workspace: string;
  let issuer: Issuer;
  let server: DevtoolServer;

  beforeEach(async () => {
    workspace = temporaryDirectory();
    issuer = await createIssuer();
    const jwt = {
      ...issuer.options,
      approveScope: APPROVE,
      auditScope: "devtool.audit",
    };
    server = await serveCodingAgent({
      workspace,
      authentication: { jwt },
      dialects: [codexQueues(), ...defaultDialects()],
    });
  });
  afterEach(() => server.close());

  it("are admitted besides the holder of the operator's token, each as a principal of their own", async () => {
    const task = await (await as("alice")).start("text hello");
    expect(task).toMatchObject({
      state: TaskState.COMPLETED,
      principal: "https://login.example#alice",
    });
    expect(await operator().start("text hello")).toMatchObject({
      principal: "local",
    });
  });

  it("cannot approve without the scope, whatever the client: nothing runs, and the approval stays open", async () => {
    const alice = await as("alice");
    const task = await alice.start(WRITE);
    await expect(alice.answer(task, "proceed_once")).rejects.toMatchObject({
      code: Code.PermissionDenied,
    });
    await expect(alice.answer(task, "proceed_always")).rejects.toMatchObject({
      code: Code.PermissionDenied,
    });
    expect(
      await inPlainText(await issuer.tokenFor("alice"), task.id, "yes"),
    ).toMatchObject({
      error: { message: expect.stringContaining('right "approve" is missing') },
    });
    expect(existsSync(join(workspace, "made.txt"))).toBe(false);
    const approving = await as("alice", `openid ${APPROVE}`);
    expect(await approving.answer(task, "proceed_once")).toMatchObject({
      state: TaskState.COMPLETED,
    });
    expect(existsSync(join(workspace, "made.txt"))).toBe(true);
  });

  it.each<readonly [string, (task: Task, token: string) => Promise<unknown>]>([
    [
      "JSON-RPC of A2A 1.0, with the extension",
      (task, token) =>
        post("/", token, {
          jsonrpc: "2.0",
          id: 1,
          method: "SendMessage",
          params: { message: confirming(task) },
        }),
    ],
    [
      "HTTP+JSON of A2A 1.0, with the extension",
      (task, token) =>
        post("/message:send", token, { message: confirming(task) }),
    ],
    [
      "HTTP+JSON of A2A 1.0, in words",
      (task, token) =>
        post(
          "/message:send",
          token,
          {
            message: {
              messageId: "w",
              taskId: task.id,
              role: "ROLE_USER",
              parts: [{ text: "yes" }],
            },
          },
          "",
        ),
    ],
    [
      "SQ/EQ",
      async (task, token) => {
        const transport = transportOf({ url: server.url, token }, "2");
        const stream = new ClientStream((all) =>
          createClient(SessionService, transport).openSession(all),
        );
        stream.submit("configure", {
          case: "configureSession",
          value: { sessionId: task.id },
        });
        const [{ toolCallId = "" } = {}] = pendingToolCalls(task);
        stream.submit("a", {
          case: "patchApproval",
          value: { callId: toolCallId, decision: ReviewDecision.APPROVED },
        });
        const error = await stream.until("error");
        stream.end();
        return error.msg.value;
      },
    ],
  ])("cannot approve without the scope over %s", async (_binding, approve) => {
    const task = await (await as("alice")).start(WRITE);
    const answered = await approve(task, await issuer.tokenFor("alice"));
    expect(JSON.stringify(answered)).toContain('\\"approve\\" is missing');
    expect(existsSync(join(workspace, "made.txt"))).toBe(false);
    const { task: present } = await (await as("alice")).client.tasks.getTask({
      taskId: task.id,
    });
    expect(present?.state).toBe(TaskState.INPUT_REQUIRED);
  });

  it("may decline without the scope", async () => {
    const alice = await as("alice");
    await alice.answer(await alice.start(WRITE), "cancel");
    expect(existsSync(join(workspace, "made.txt"))).toBe(false);
  });

  it("appear in the audit log with their principal, and read it only with the scope", async () => {
    const alice = await as("alice", APPROVE);
    await alice.answer(await alice.start(WRITE), "proceed_once");
    await expect(auditOf(alice)).rejects.toMatchObject({
      code: Code.PermissionDenied,
    });
    const records = await auditOf(await as("auditor", "devtool.audit"));
    expect(await auditOf(operator())).toEqual(records);
    const approved = records.filter(
      ({ action }) => action === AuditAction.APPROVED,
    );
    expect(approved.map(({ principal }) => principal)).toEqual([
      "https://login.example#alice",
    ]);
  });

  it("are refused with the reason when their token is not accepted", async () => {
    const token = await (await createIssuer()).tokenFor("alice");
    const response = await fetch(server.url, {
      method: "POST",
      headers: { authorization: `Bearer ${token}` },
    });
    expect(response.status).toBe(401);
    expect(response.headers.get("www-authenticate")).toBe(
      `Bearer error="invalid_token", resource_metadata="${server.url}/.well-known/oauth-protected-resource"`,
    );
    expect(await response.json()).toMatchObject({
      error: { message: "the token is not accepted: its signature is wrong" },
    });
    await expect(
      new Conversation({ url: server.url, token }, signal).start("text x"),
    ).rejects.toMatchObject({
      code: Code.Unauthenticated,
    });
  });

  async function as(subject: string, scope?: string): Promise<Conversation> {
    return new Conversation(
      { url: server.url, token: await issuer.tokenFor(subject, scope) },
      signal,
    );
  }

  function operator(): Conversation {
    return new Conversation(server, signal);
  }

  /** An answer of A2A 1.0 that approves the question of a task. */
  function confirming(task: Task) {
    const [{ toolCallId = "" } = {}] = pendingToolCalls(task);
    const data = {
      tool_call_id: toolCallId,
      selected_option_id: "proceed_once",
    };
    return {
      messageId: "c",
      taskId: task.id,
      role: "ROLE_USER",
      parts: [{ data }],
    };
  }

  async function post(
    path: string,
    token: string,
    body: object,
    extension = EXTENSION_URI,
  ): Promise<unknown> {
    const headers = {
      "content-type": "application/json",
      authorization: `Bearer ${token}`,
      "a2a-version": "1.0",
      ...(extension !== "" && { "a2a-extensions": extension }),
    };
    return (
      await fetch(`${server.url}${path}`, {
        method: "POST",
        headers,
        body: JSON.stringify(body),
      })
    ).json();
  }

  async function inPlainText(
    token: string,
    taskId: string,
    text: string,
  ): Promise<unknown> {
    const message = {
      kind: "message",
      role: "user",
      messageId: "m",
      taskId,
      parts: [{ kind: "text", text }],
    };
    const body = JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "message/send",
      params: { message },
    });
    const headers = {
      "content-type": "application/json",
      authorization: `Bearer ${token}`,
    };
    return (await fetch(server.url, { method: "POST", headers, body })).json();
  }
});

async function auditOf({ client }: Conversation): Promise<AuditRecord[]> {
  const found: AuditRecord[] = [];
  for await (const { record } of client.audit.readAudit({ afterNumber: 0n })) {
    if (record) found.push(record);
  }
  return found;
}
