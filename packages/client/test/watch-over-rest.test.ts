import { serveCodingAgent } from "@devtool/coding-agent";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { TaskState } from "@devtool/schema";
import { expect, it } from "vitest";
import { createA2aTransport } from "../src/a2a.ts";
import {
  confirmationPart,
  createDevtoolClient,
  type DevtoolClient,
  observeTask,
  pendingToolCalls,
  streamMessage,
  subscribeTask,
  textMessage,
} from "../src/index.ts";

const { SUBMITTED, WORKING, INPUT_REQUIRED, COMPLETED } = TaskState;

it.each(["JSONRPC", "HTTP+JSON"])(
  "a task can be watched over A2A 0.3 (%s) to its end, even while it waits for approval",
  async (protocolBinding) => {
    const workspace = temporaryDirectory();
    await using server = await serveCodingAgent({ workspace });
    const connect = () =>
      createDevtoolClient(
        createA2aTransport({
          url: server.url,
          token: server.token,
          protocolBinding,
        }),
      );
    const signal = AbortSignal.timeout(60_000);
    const request = {
      message: textMessage("m1", "write a.txt one\ntext Done."),
    };
    const asked = await Array.fromAsync(
      streamMessage(connect(), request, signal),
    );
    const taskId = asked[0]?.taskId ?? "";
    const states: TaskState[] = [];
    const sequences: bigint[] = [];
    for await (const event of subscribeTask(connect(), { taskId }, signal)) {
      sequences.push(event.sequence);
      if (event.state !== states.at(-1)) states.push(event.state);
      if (event.state === INPUT_REQUIRED) {
        await approveAll(connect(), taskId, signal);
      }
    }
    expect(states).toEqual([
      SUBMITTED,
      WORKING,
      INPUT_REQUIRED,
      WORKING,
      COMPLETED,
    ]);
    expect(sequences).toEqual(
      sequences.toSorted((one, other) => Number(one - other)),
    );
    expect(new Set(sequences).size).toBe(sequences.length);
    const [last] = (
      await Array.fromAsync(observeTask(connect(), taskId, signal))
    ).slice(-1);
    expect(
      pendingToolCalls(last ?? expect.fail("observeTask yielded nothing")),
    ).toEqual([]);
  },
);

async function approveAll(
  client: DevtoolClient,
  taskId: string,
  signal: AbortSignal,
): Promise<void> {
  const { task } = await client.tasks.getTask({ taskId }, { signal });
  const parts = task
    ? pendingToolCalls(task).map((call) =>
        confirmationPart(call, "proceed_once"),
      )
    : [];
  await client.tasks.sendMessage(
    { taskId, message: { messageId: "m2", parts } },
    { signal },
  );
}
