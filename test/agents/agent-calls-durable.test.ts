import { setTimeout as delay } from "node:timers/promises";
import {
  confirmationPart,
  pendingToolCalls,
  textMessage,
} from "@devtool/client";
import { codingAgent } from "@devtool/coding-agent";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { TaskState } from "@devtool/schema";
import { createServer } from "@devtool/server";
import { MemoryTaskStore, type TaskAppend } from "@devtool/server/store";
import { expect, it } from "vitest";
import { clientOf } from "../client-of.ts";
import { approve, taskOf } from "../tasks.ts";

/** A store that may take long. */
class SlowStore extends MemoryTaskStore {
  held: Promise<void> = Promise.resolve();

  override async append(append: TaskAppend): Promise<void> {
    await this.held;
    return super.append(append);
  }
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
  const taskId = task?.id ?? "";
  const asked = await approve(client, await taskOf(client, taskId));
  const [question] = pendingToolCalls(asked);
  if (!question) throw new Error("nothing is asked");
  const stored = Promise.withResolvers<void>();
  store.held = stored.promise;
  const parts = [confirmationPart(question, "proceed_once")];
  const answering = client.tasks.sendMessage({
    message: { messageId: crypto.randomUUID(), parts },
    taskId,
  });
  const [answered] = await Promise.all([
    answering,
    delay(500).then(() => {
      expect(sent).toEqual([]);
      stored.resolve();
    }),
  ]);
  expect(answered.task?.state).toBe(TaskState.COMPLETED);
  expect(sent).toEqual(["answer"]);
});
