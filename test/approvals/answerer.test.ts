import { join } from "node:path";
import { Code } from "@connectrpc/connect";
import {
  createTaskView,
  type DevtoolClient,
  subscribeTask,
  type TaskView,
} from "@devtool/client";
import { serveCodingAgent } from "@devtool/coding-agent";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { AuditAction } from "@devtool/schema";
import type { DevtoolServer } from "@devtool/server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CLIENTS, clientOf } from "../client-of.ts";
import { detailOf, soon } from "../tasks.ts";

const LABEL = "chat on Ada's laptop 寸";

describe("who answered a question", () => {
  let base: string;
  let server: DevtoolServer;
  let direct: DevtoolClient;

  beforeAll(async () => {
    base = temporaryDirectory();
    server = await serveCodingAgent({
      workspace: join(base),
      dataDirectory: temporaryDirectory(),
    });
    direct = clientOf(server);
  });
  afterAll(() => server.close());

  it.each([
    "Connect",
    "A2A 1.0 over JSON-RPC",
    "A2A 1.0 over HTTP+JSON",
    "A2A 0.3 over JSON-RPC",
    "A2A 0.3 over HTTP+JSON",
  ] as const)(
    "is in the log, in the events and in the audit log: %s",
    async (over) => {
      const view = createTaskView(CLIENTS[over](server), {
        clientLabel: LABEL,
      });
      const toolCallId = await ask(view);
      await view.answer(toolCallId, "proceed_once", soon());
      const answerer = { principal: "local", clientLabel: LABEL };
      expect(detailOf(view, toolCallId)?.answerer).toMatchObject(answerer);
      // From the store, for clients that were not connected.
      const events = await Array.fromAsync(
        subscribeTask(direct, { taskId: view.snapshot().task.id }, soon()),
      );
      const answerers = events
        .flatMap(({ toolCallDetail }) => toolCallDetail ?? [])
        .map((detail) => detail.answerer);
      expect(answerers[0]).toBeUndefined();
      expect(answerers.at(-1)).toMatchObject(answerer);
      const labels = (await auditOf(toolCallId)).map(
        ({ action, clientLabel }) => [AuditAction[action], clientLabel],
      );
      expect(labels).toEqual([
        ["ASKED", ""],
        ["APPROVED", LABEL],
        ["STARTED", ""],
        ["SUCCEEDED", ""],
      ]);
    },
  );

  it("is known of a call that was declined", async () => {
    const view = createTaskView(direct, { clientLabel: LABEL });
    const toolCallId = await ask(view);
    await view.answer(toolCallId, "cancel", soon());
    expect(detailOf(view, toolCallId)?.answerer).toMatchObject({
      principal: "local",
      clientLabel: LABEL,
    });
    expect((await auditOf(toolCallId)).at(-1)).toMatchObject({
      action: AuditAction.DECLINED,
      clientLabel: LABEL,
    });
  });

  it("is not known any more of a call that asks again", async () => {
    const view = createTaskView(direct, { clientLabel: "the first" });
    const toolCallId = await ask(view);
    await view.answer(toolCallId, "modify_with_editor", soon(), {
      newContent: "mine",
    });
    expect(view.snapshot().questions).toHaveLength(1);
    expect(detailOf(view, toolCallId)?.answerer).toBeUndefined();
    const other = createTaskView(direct, {
      taskId: view.snapshot().task.id,
      clientLabel: "the second",
    });
    const leave = new AbortController();
    const followed = other.follow(leave.signal);
    await expect.poll(() => other.snapshot().questions.length).toBe(1);
    await other.answer(toolCallId, "proceed_once", soon());
    leave.abort();
    await followed;
    expect(detailOf(other, toolCallId)?.answerer?.clientLabel).toBe(
      "the second",
    );
  });

  it("is its principal alone without a label", async () => {
    const view = createTaskView(direct);
    const toolCallId = await ask(view);
    await view.answer(toolCallId, "proceed_once", soon());
    expect(detailOf(view, toolCallId)?.answerer).toMatchObject({
      principal: "local",
      clientLabel: "",
    });
  });

  it.each([
    ["of 65 characters", "x".repeat(65)],
    ["with a control character", "chat\u001b[2J"],
    ["that turns the writing direction", "chat \u202eevil"],
    ["with a character without width", "ch\u200bat"],
    ["of two lines", "chat\napproved"],
    ["that begins with a space", " chat"],
  ])("cannot have a label %s", async (_, clientLabel) => {
    const sent = createTaskView(direct, { clientLabel }).send(
      "text Hello.",
      soon(),
    );
    await expect(sent).rejects.toMatchObject({ code: Code.InvalidArgument });
  });

  it("may have a label of 64 characters", async () => {
    const clientLabel = "😀".repeat(64);
    const view = createTaskView(direct, { clientLabel });
    const toolCallId = await ask(view);
    await view.answer(toolCallId, "proceed_once", soon());
    expect(detailOf(view, toolCallId)?.answerer?.clientLabel).toBe(clientLabel);
  });

  async function ask(view: TaskView): Promise<string> {
    await view.send(`write ${crypto.randomUUID()}.txt asked`, soon());
    return view.snapshot().questions[0]?.toolCallId ?? "";
  }

  async function auditOf(toolCallId: string) {
    const responses = await Array.fromAsync(direct.audit.readAudit({}));
    return responses.flatMap(({ record }) =>
      record?.toolCallId === toolCallId ? record : [],
    );
  }
});
