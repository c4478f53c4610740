import { create } from "@bufbuild/protobuf";
import { textMessage } from "@devtool/client";
import { InboxRequestSchema, type Message } from "@devtool/schema";
import { expect, it } from "vitest";
import { begin, followed, Gates, LIMIT_MS, speaking } from "./agents.ts";
import { type Execute, type Replica, startReplica } from "./replicas.ts";
import { describeWithPostgres } from "./with-postgres.ts";

describeWithPostgres(
  "copies of a message at several servers (STREAM-7)",
  (database) => {
    let schemas = 0;

    const nextSchema = () => `copies_${++schemas}`;

    it("begin one task for each message, 100 messages at two servers at once", async () => {
      const schema = nextSchema();
      const runs: string[] = [];
      await using one = await startReplica(database.url, schema, noting(runs));
      await using other = await startReplica(
        database.url,
        schema,
        noting(runs),
      );
      const messages = Array.from({ length: 100 }, () =>
        textMessage(crypto.randomUUID(), "go"),
      );
      const sent = messages.map((message) =>
        Promise.all([send(one, message), send(other, message)]),
      );
      for (const [here, there] of await Promise.all(sent)) {
        expect(here.task?.id).toBe(there.task?.id);
        expect([here, there].filter(({ replay }) => replay)).toHaveLength(1);
      }
      expect(runs.toSorted()).toEqual(
        messages.map(({ messageId }) => messageId).toSorted(),
      );
      const tasks = await database.run(`SELECT id FROM ${schema}.task`);
      expect(tasks).toHaveLength(messages.length);
      expect([...one.errors, ...other.errors]).toEqual([]);
    });

    it("begin one task when there are 200 of one message", async () => {
      const schema = nextSchema();
      const runs: string[] = [];
      await using one = await startReplica(database.url, schema, noting(runs));
      await using other = await startReplica(
        database.url,
        schema,
        noting(runs),
      );
      const message = textMessage("m1", "go");
      const sent = Array.from({ length: 200 }, (_, at) =>
        send(at % 2 === 0 ? one : other, message),
      );
      const replies = await Promise.all(sent);
      expect(new Set(replies.map(({ task }) => task?.id)).size).toBe(1);
      expect(replies.filter(({ replay }) => replay)).toHaveLength(199);
      expect(runs).toEqual(["m1"]);
    });

    it("count once in a task, when one came from a server that died and the other is its retry", async () => {
      const schema = nextSchema();
      const words = new Gates(1);
      await using one = await startReplica(
        database.url,
        schema,
        speaking(words),
      );
      await using other = await startReplica(
        database.url,
        schema,
        speaking(words),
      );
      const taskId = await begin(one, "go");
      // While a server that does not answer has the task, entries wait.
      await database.run(
        `INSERT INTO ${schema}.replica VALUES ('mute', clock_timestamp() + interval '1 day')`,
      );
      await database.run(
        `UPDATE ${schema}.task SET owner = 'mute', fence = fence + 1 WHERE id = '${taskId}'`,
      );
      const message = textMessage("m2", "more");
      const value = { message, taskId };
      await other.store.shared.inbox.put(
        taskId,
        create(InboxRequestSchema, { request: { case: "message", value } }),
      );
      const sent = other.client.tasks.sendMessage({
        message,
        taskId,
        returnImmediately: true,
      });
      const entries = () => database.run(`SELECT id FROM ${schema}.inbox`);
      await expect.poll(entries, { timeout: LIMIT_MS }).toHaveLength(2);
      await database.run(`DELETE FROM ${schema}.replica WHERE id = 'mute'`);
      expect((await sent).replay?.messageId).toBe("m2");
      expect(await recorded(other, taskId, "m2", words)).toBe(1);
    });

    it("count once in a task, when each of 16 comes from a client and through the inbox at once", async () => {
      const schema = nextSchema();
      const words = new Gates(1);
      await using one = await startReplica(
        database.url,
        schema,
        speaking(words),
      );
      await using other = await startReplica(
        database.url,
        schema,
        speaking(words),
      );
      const taskId = await begin(one, "go");
      await followed(one, taskId, () => true);
      const ids = Array.from({ length: 16 }, (_, at) => `copy-${at}`);
      const sent = ids.flatMap((id) =>
        [one, other].map(({ client }) =>
          client.tasks.sendMessage({
            message: textMessage(id, "more"),
            taskId,
            returnImmediately: true,
          }),
        ),
      );
      const replies = await Promise.all(sent);
      expect(replies.filter(({ replay }) => replay)).toHaveLength(ids.length);
      const { task } = await one.client.tasks.getTask({ taskId });
      expect(
        task?.queuedMessages
          .map(({ message }) => message?.messageId)
          .toSorted(),
      ).toEqual(ids.toSorted());
    });

    it("may follow with the same id when the retry window is over", async () => {
      const schema = nextSchema();
      const runs: string[] = [];
      await using one = await startReplica(database.url, schema, noting(runs));
      await using other = await startReplica(
        database.url,
        schema,
        noting(runs),
      );
      const first = await send(one, textMessage("m1", "go"));
      const [event] = await followed(one, first.task?.id ?? "");
      // As it is after ten minutes.
      if (event) {
        await one.store.shared.forgetMessage(
          first.task?.principal ?? "",
          "m1",
          event,
        );
      }
      const replies = await Promise.all(
        [one, other].map((replica) => send(replica, textMessage("m1", "go"))),
      );
      expect(new Set(replies.map(({ task }) => task?.id)).size).toBe(1);
      expect(replies[0]?.task?.id).not.toBe(first.task?.id);
      expect(runs).toEqual(["m1", "m1"]);
    });
  },
);

function send({ client }: Replica, message: Message) {
  return client.tasks.sendMessage({ message, returnImmediately: true });
}

/** An agent that notes the message of each turn, and says nothing. */
function noting(runs: string[]): Execute {
  return async function* (turn) {
    runs.push(turn.task.history.at(-1)?.messageId ?? "");
    yield { case: "text", value: "Noted." };
  };
}

/**
 * Lets a task go on to its end, and returns how often it has recorded a
 * message.
 */
async function recorded(
  replica: Replica,
  taskId: string,
  messageId: string,
  words: Gates,
): Promise<number> {
  for (let turn = 0; turn < 4; turn++) words.open();
  await followed(replica, taskId);
  const { task } = await replica.client.tasks.getTask({ taskId });
  return (
    task?.history.filter((message) => message.messageId === messageId).length ??
    0
  );
}
