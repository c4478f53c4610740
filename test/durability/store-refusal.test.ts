import { setTimeout as delay } from "node:timers/promises";
import { ConnectError } from "@connectrpc/connect";
import {
  createDevtoolClient,
  streamMessage,
  textMessage,
} from "@devtool/client";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { type TaskEvent, TaskState } from "@devtool/schema";
import { type Agent, Code, createServer, DevtoolError } from "@devtool/server";
import { MemoryTaskStore, type TaskAppend } from "@devtool/server/store";
import { describe, expect, it } from "vitest";

/** A store that refuses what is appended while it has a reason. */
class RefusingStore extends MemoryTaskStore {
  refusal: DevtoolError | undefined;

  override async append(append: TaskAppend): Promise<void> {
    if (this.refusal) throw this.refusal;
    return super.append(append);
  }
}

/** Says something again and again, until its turn is aborted. */
const talker: Agent = {
  about: { name: "Talker", description: "Talks." },
  open: () => ({
    createExecutor: () => ({
      async *execute(_turn, signal) {
        yield { case: "text", value: "one " };
        while (!signal.aborted) {
          yield { case: "text", value: "more " };
          await delay(5, undefined, { signal }).catch(() => undefined);
        }
      },
    }),
  }),
};

describe("a store that refuses in mid-turn", () => {
  it.each([
    ["a full disk", "the disk is full", Code.ResourceExhausted],
    ["an outage", "the tape is away", Code.Unavailable],
  ])(
    "tells its operator and its client of %s",
    async (_what, problem, code) => {
      const store = new RefusingStore();
      const notices: string[] = [];
      await using server = await createServer({
        agents: { talker },
        workspace: temporaryDirectory(),
        openStore: async () => store,
        onNotice: (text) => notices.push(text),
      });
      const client = createDevtoolClient(await server.transport());
      const lost: ConnectError[] = [];
      const seen: TaskEvent[] = [];
      const message = textMessage(crypto.randomUUID(), "talk");
      const options = {
        maxAttempts: 3,
        delay: () => Promise.resolve(),
        onLost: (error: ConnectError) => lost.push(error),
      };
      const signal = AbortSignal.timeout(30_000);
      const read = async () => {
        for await (const event of streamMessage(
          client,
          { message },
          signal,
          options,
        )) {
          seen.push(event);
          if (event.payload.case === "text") {
            store.refusal ??= new DevtoolError(problem, code, {
              remedy: "wait",
            });
          }
        }
      };
      const error = await read().catch(ConnectError.from);
      const said = { code, rawMessage: `${problem}: wait` };
      expect(error).toMatchObject(said);
      // A full disk is not tried again; an outage is, and each time said.
      const attempts = code === Code.Unavailable ? 3 : 0;
      expect(lost).toMatchObject(Array(attempts).fill(said));
      expect(notices).toEqual([`tasks cannot be stored: ${problem}: wait`]);

      // Nobody is shown what is not stored.
      const last = seen.at(-1);
      const taskId = last?.taskId ?? "";
      const stored = await Array.fromAsync(store.readEvents(taskId, 0n));
      expect(last?.sequence).toBeLessThanOrEqual(stored.at(-1)?.sequence ?? 0n);
      await expect(client.tasks.getTask({ taskId })).rejects.toMatchObject(
        said,
      );
      const { tasks } = await client.tasks.listTasks({});
      expect(tasks[0]?.lastEvent?.state).toBe(TaskState.WORKING);

      store.refusal = undefined;
      const { task } = await client.tasks.getTask({ taskId });
      expect([task?.state, task?.stateText]).toEqual([
        TaskState.INPUT_REQUIRED,
        `The store could not be written while the agent was working: ${problem}. Send a message to go on.`,
      ]);
      expect(notices).toHaveLength(2);
      expect(notices[1]).toMatch(
        new RegExp(
          `^tasks can be stored again, after \\d+ refusals: ${problem}$`,
        ),
      );
    },
  );
});
