import { setImmediate as nextTurn } from "node:timers/promises";
import {
  confirmationPart,
  pendingToolCalls,
  textMessage,
} from "@devtool/client";
import { codingAgent } from "@devtool/coding-agent";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { type TaskEvent, TaskState, ToolCallStatus } from "@devtool/schema";
import { createServer } from "@devtool/server";
import { MemoryTaskStore, type TaskAppend } from "@devtool/server/store";
import { expect, it } from "vitest";
import { clientOf } from "../client-of.ts";
import { approve, taskOf } from "../tasks.ts";

/** A store that takes long for a question that gets its answer. */
class SlowStore extends MemoryTaskStore {
  readonly begun = Promise.withResolvers<void>();
  readonly stored = Promise.withResolvers<void>();

  #held: Promise<void> = Promise.resolve();

  override async append(append: TaskAppend): Promise<void> {
    if (append.events.some(givesAnswer)) {
      this.#held = this.stored.promise;
      this.begun.resolve();
    }
    await this.#held;
    return super.append(append);
  }
}

function givesAnswer({ payload, toolCallDetail }: TaskEvent): boolean {
  return (
    payload.case === "toolCall" &&
    payload.value.status === ToolCallStatus.EXECUTING &&
    (toolCallDetail?.parentToolCallId ?? "") !== ""
  );
}

it("gives an agent elsewhere no answer before that is durable here", async () => {
  const workspace = temporaryDirectory();
  await using below = await createServer({
    agents: { main: codingAgent() },
    workspace,
  });
  const store = new SlowStore();
  const sent: string[] = [];
  const far = {
    ...{ name: "far", description: "", url: below.url, token: below.token },
    fetch: ((input, init) => {
      if (String(init?.body).includes("proceed_once")) sent.push("answer");
      return fetch(input, init);
    }) satisfies typeof fetch,
  };
  await using above = await createServer({
    agents: { main: codingAgent({ remoteAgents: [far] }) },
    workspace,
    openStore: async () => store,
  });
  const client = clientOf(above);
  const message = JSON.stringify({ message: "write a.txt made\ntext Made." });
  const { task } = await client.tasks.sendMessage({
    message: textMessage(crypto.randomUUID(), `call agent_far ${message}`),
  });
  const asked = await approve(client, await taskOf(client, task?.id ?? ""));
  const [question] = pendingToolCalls(asked);
  if (!question) throw new Error("nothing is asked");
  const parts = [confirmationPart(question, "proceed_once")];
  const [answered, sentBefore] = await Promise.all([
    client.tasks.sendMessage({
      message: { messageId: crypto.randomUUID(), parts },
      taskId: asked.id,
    }),
    sentWhileStored(),
  ]);
  expect(sentBefore).toEqual([]);
  expect(answered.task?.state).toBe(TaskState.COMPLETED);
  expect(sent).toEqual(["answer"]);

  /** Returns what is sent while the store takes long, which an answer may not be. */
  async function sentWhileStored(): Promise<readonly string[]> {
    await store.begun.promise;
    for (let turn = 0; turn < 100; turn++) await nextTurn();
    store.stored.resolve();
    return [...sent];
  }
});
