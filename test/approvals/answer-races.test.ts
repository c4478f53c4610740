import { existsSync } from "node:fs";
import { join } from "node:path";
import { Code } from "@connectrpc/connect";
import {
  confirmationPart,
  createTaskView,
  modifiedArgumentsPart,
  textMessage,
} from "@devtool/client";
import { serveCodingAgent } from "@devtool/coding-agent";
import { fileText } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import {
  ApprovalMode,
  AuditAction,
  type Part,
  Role,
  TaskState,
} from "@devtool/schema";
import type { DevtoolServer } from "@devtool/server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { clientOf } from "../client-of.ts";
import { roundsOf, seedOf } from "../depth.ts";
import { soon } from "../tasks.ts";

const ROUNDS = roundsOf("DEVTOOL_ANSWER_RACES", {
  quick: 12,
  ci: 40,
  deep: 1000,
});

describe("answers, edits, cancellations and queued messages at the same moment", () => {
  let workspace: string;
  let server: DevtoolServer;
  let seed = seedOf();

  beforeAll(async () => {
    workspace = temporaryDirectory();
    server = await serveCodingAgent({ workspace, sandbox: "none" });
  });
  afterAll(() => server.close());

  it(`run what was approved and nothing else, in ${ROUNDS} rounds`, {
    timeout: 60_000 + ROUNDS * 5_000,
  }, async () => {
    const outcomes = new Set<string>();
    for (let round = 0; round < ROUNDS; round++) {
      outcomes.add(await race(`f${round}`));
    }
    console.info(`races: ${[...outcomes].sort().join(", ")}`);
  });

  it("let a message that waits behind a question widen nothing", async () => {
    const view = createTaskView(clientOf(server));
    await view.send("write first one", soon());
    const [call = expect.unreachable()] = view.snapshot().questions;
    const { id: taskId } = view.snapshot().task;
    const { tasks } = clientOf(server);
    const message = textMessage("wide", "write second two");
    const sessionSettings = { approvalMode: ApprovalMode.YOLO };
    await tasks.sendMessage({
      taskId,
      message,
      sessionSettings,
      returnImmediately: true,
    });
    await view.answer(call.toolCallId, "proceed_once", soon());
    const { task } = await tasks.getTask({ taskId });
    expect([
      task?.state,
      existsSync(join(workspace, "first")),
      existsSync(join(workspace, "second")),
    ]).toEqual([TaskState.INPUT_REQUIRED, true, false]);
  });

  /**
   * Sends an approval, an edit, a cancellation and a message at once, in any
   * order. Returns what became of the call.
   */
  async function race(name: string): Promise<string> {
    const view = createTaskView(clientOf(server));
    await view.send(`write ${name} theirs`, soon());
    const [call = expect.unreachable()] = view.snapshot().questions;
    const { id: taskId } = view.snapshot().task;
    const send = (parts: Part[]) =>
      clientOf(server).tasks.sendMessage({
        taskId,
        message: { messageId: crypto.randomUUID(), role: Role.USER, parts },
        returnImmediately: true,
      });
    const acts: Record<string, () => Promise<unknown>> = {
      approve: () => send([confirmationPart(call, "proceed_once")]),
      edit: () =>
        send([
          modifiedArgumentsPart(call, { file_path: name, content: "mine" }),
        ]),
      cancel: () => clientOf(server).tasks.cancelTask({ taskId }),
      steer: () => send(textMessage("", `text steer`).parts),
    };
    const order = shuffled(Object.keys(acts)).slice(0, 2 + next(3));
    const results = await Promise.allSettled(order.map((act) => acts[act]?.()));
    const won = order.filter(
      (_, index) => results[index]?.status === "fulfilled",
    );
    for (const result of results) {
      if (result.status === "fulfilled") continue;
      expect([
        Code.FailedPrecondition,
        Code.InvalidArgument,
        Code.NotFound,
      ]).toContain(result.reason.code);
    }
    await expect.poll(() => isAtRest(taskId), { timeout: 60_000 }).toBe(true);
    const records = await auditOf(taskId);
    const [approved, started] = [AuditAction.APPROVED, AuditAction.STARTED].map(
      (action) => records.filter((record) => record.action === action),
    );
    const content = existsSync(join(workspace, name))
      ? fileText(workspace, name)
      : undefined;
    // An edit asks again, and nobody has answered that. So what runs is what
    // was proposed, once, under the digest that was approved.
    if (content !== undefined) {
      expect([content, won.includes("approve")]).toEqual(["theirs", true]);
    }
    expect(started?.length).toBeLessThanOrEqual(1);
    for (const { digest } of started ?? []) {
      expect(approved?.map((record) => record.digest)).toContainEqual(digest);
    }
    if (won.includes("edit") && won.includes("approve")) {
      expect.unreachable(
        "both an edit and an answer to the question before it",
      );
    }
    return `${order.join("+")} -> ${won.join("+")}${content === undefined ? "" : ", ran"}`;
  }

  async function isAtRest(taskId: string): Promise<boolean> {
    const { task } = await clientOf(server).tasks.getTask({ taskId });
    return (
      task !== undefined &&
      task.state !== TaskState.WORKING &&
      task.state !== TaskState.SUBMITTED
    );
  }

  async function auditOf(taskId: string) {
    const responses = await Array.fromAsync(
      clientOf(server).audit.readAudit({}),
    );
    return responses.flatMap(({ record }) =>
      record?.taskId === taskId ? [record] : [],
    );
  }

  function next(below: number): number {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((seed / 2_147_483_648) * below);
  }

  function shuffled<T>(items: readonly T[]): T[] {
    return items
      .map((item) => ({ item, key: next(1_000_000) }))
      .sort((a, b) => a.key - b.key)
      .map(({ item }) => item);
  }
});
