import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { Code } from "@connectrpc/connect";
import {
  confirmationPart,
  pendingToolCalls,
  streamMessage,
  subscribeTask,
  textMessage,
} from "@devtool/client";
import { fetchAgentCard } from "@devtool/client/a2a";
import { serveCodingAgent } from "@devtool/coding-agent";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import {
  emptyTask,
  reduceTask,
  type Task,
  type TaskEvent,
  TaskState,
} from "@devtool/schema";
import type { DevtoolServer } from "@devtool/server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CLIENTS } from "../client-of.ts";

const signal = AbortSignal.timeout(300_000);

describe("the whole pipeline", () => {
  let server: DevtoolServer;
  let workspace: string;

  beforeAll(async () => {
    workspace = temporaryDirectory();
    server = await serveCodingAgent({
      workspace,
      dataDirectory: temporaryDirectory(),
    });
  });

  afterAll(() => server.close());

  for (const [name, connect] of Object.entries(CLIENTS)) {
    it(`asks, is answered with changed content, runs and completes over ${name} (STREAM-4, TOOL-6)`, async () => {
      const client = connect(server);
      const file = `${name.replaceAll(/\W/g, "-")}.txt`;
      const script = `think\nwrite ${file} proposed\\n\nrun eval cat ${file}\ntext done`;
      const asked = await fold(
        streamMessage(
          client,
          { message: textMessage(crypto.randomUUID(), script) },
          signal,
        ),
      );
      expect(asked.state).toBe(TaskState.INPUT_REQUIRED);

      const [write, run] = pendingToolCalls(asked);
      if (!write || !run) throw new Error("two calls should ask");
      const parts = [
        confirmationPart(write, "proceed_once", "chosen\n"),
        confirmationPart(run, "proceed_once"),
      ];
      const answer = { messageId: crypto.randomUUID(), parts };
      const events = streamMessage(
        client,
        { message: answer, taskId: asked.id },
        signal,
      );
      const done = await fold(events, asked);

      expect(done.state).toBe(TaskState.COMPLETED);
      expect(await readFile(join(workspace, file), "utf8")).toBe("chosen\n");
      expect(outputs(done)).toContain("chosen\n");
      const replayed = await fold(
        subscribeTask(client, { taskId: done.id }, signal),
      );
      expect(replayed.history.at(-1)?.parts).toEqual(
        done.history.at(-1)?.parts,
      );
    });
  }

  it.each([
    "A2A 0.3 over JSON-RPC",
    "A2A 0.3 over HTTP+JSON",
    "A2A 1.0 over JSON-RPC",
    "A2A 1.0 over HTTP+JSON",
    "A2A 1.0 over gRPC",
    "gRPC",
  ] as const)(
    "keeps where notifications go, asked for beside a message or later, over %s (PUSH-1)",
    async (name) => {
      const { tasks, push } = CLIENTS[name](server);
      const pushConfig = {
        id: "one",
        url: "https://93.184.215.14/hook",
        token: "t",
      };
      const { task } = await tasks.sendMessage({
        message: textMessage(crypto.randomUUID(), "text Hi."),
        pushConfig,
      });
      const taskId = task?.id ?? "";
      const { config } = await push.setPushConfig({
        config: {
          ...pushConfig,
          id: "two",
          taskId,
          authentication: { scheme: "Basic", credentials: "a:b" },
        },
      });
      expect(config).toMatchObject({ id: "two", url: pushConfig.url });
      expect(
        (await push.getPushConfig({ taskId, configId: "one" })).config,
      ).toMatchObject({ taskId, token: "[hidden]" });
      await push.deletePushConfig({ taskId, configId: "two" });
      expect(
        (await push.listPushConfigs({ taskId })).configs.map(({ id }) => id),
      ).toEqual(["one"]);
      await expect(
        push.getPushConfig({ taskId, configId: "two" }),
      ).rejects.toMatchObject({ code: Code.NotFound });
    },
  );

  it("goes on, is canceled and says what is wrong over A2A 0.3 over HTTP+JSON as over JSON-RPC (STREAM-3, ERR-1)", async () => {
    for (const binding of [
      "A2A 0.3 over JSON-RPC",
      "A2A 0.3 over HTTP+JSON",
    ] as const) {
      const { tasks } = CLIENTS[binding](server);
      const message = textMessage(crypto.randomUUID(), "wait 60000");
      const { task } = await tasks.sendMessage({
        message,
        returnImmediately: true,
      });
      const taskId = task?.id ?? "";
      expect((await tasks.cancelTask({ taskId })).task?.state).toBe(
        TaskState.CANCELED,
      );
      const events = await Array.fromAsync(
        tasks.subscribeTask({ taskId, afterSequence: 1n }),
      );
      expect([events[0]?.event?.sequence, events.at(-1)?.event?.state]).toEqual(
        [2n, TaskState.CANCELED],
      );
      const failures = [
        tasks.cancelTask({ taskId }),
        tasks.getTask({ taskId: "no/body:here" }),
        tasks.getTask({ taskId: "" }),
        tasks.sendMessage({ message: { ...message, messageId: "" } }),
        Array.fromAsync(tasks.subscribeTask({ taskId: "nobody" })),
        CLIENTS[binding]({ url: server.url, token: "wrong" }).tasks.getTask({
          taskId,
        }),
      ];
      const codes = failures.map((failed) =>
        failed.then(() => undefined).catch(({ code }) => Code[code]),
      );
      expect([binding, await Promise.all(codes)]).toEqual([
        binding,
        [
          "FailedPrecondition",
          "NotFound",
          "InvalidArgument",
          "InvalidArgument",
          "NotFound",
          "Unauthenticated",
        ],
      ]);
    }
  });

  it("serves a card with the extension that the client accepts (CARD-1, CARD-2)", async () => {
    const card = await fetchAgentCard({ url: server.url }, signal);
    const offers = card.supportedInterfaces.map(
      (item) => `${item.protocolVersion} ${item.protocolBinding}`,
    );
    expect(offers).toEqual(
      expect.arrayContaining(["1.0 JSONRPC", "1.0 HTTP+JSON", "0.3 JSONRPC"]),
    );
  });
});

async function fold(
  events: AsyncIterable<TaskEvent>,
  from: Task = emptyTask(),
): Promise<Task> {
  let task = from;
  for await (const event of events) task = reduceTask(task, event);
  return task;
}

function outputs(task: Task): string[] {
  return task.history.flatMap(({ parts }) =>
    parts.flatMap(({ content }) => {
      if (
        content.case !== "toolCall" ||
        content.value.result.case !== "output"
      ) {
        return [];
      }
      const { result } = content.value.result.value;
      return result.case === "text" ? [result.value] : [];
    }),
  );
}
