import { create, toBinary } from "@bufbuild/protobuf";
import { textMessage } from "@devtool/client";
import { InboxRequestSchema, TaskState } from "@devtool/schema";
import { expect, it } from "vitest";
import { LEFT_TO_CI } from "../depth.ts";
import {
  asking,
  begin,
  followed,
  Gates,
  LIMIT_MS,
  speaking,
} from "./agents.ts";
import { type Replica, startReplica } from "./replicas.ts";
import { describeWithPostgres } from "./with-postgres.ts";

/**
 * As text, which is how rows are sent, more than a string of JavaScript holds:
 * 300 MiB. PostgreSQL stores them in 4.
 */
const OVERSIZED = "convert_to(repeat('x', 300 * 1024 * 1024), 'UTF8')";
const NOT_PROTOBUF = "'\\xff'::bytea";

describeWithPostgres(
  "a row that somebody else wrote into the database of servers",
  (database) => {
    let schemas = 0;

    const nextSchema = () => `rows_${++schemas}`;

    for (const { what, request, left } of [
      { what: "not a request", request: NOT_PROTOBUF, left: "" },
      { what: "empty", request: "''::bytea", left: "" },
      {
        what: "a value without JSON",
        request: `'\\x${hexOf(messageWithNaN())}'::bytea`,
        left: "",
      },
      { what: "too large", request: OVERSIZED, left: LEFT_TO_CI },
    ]) {
      it.skipIf(left !== "")(
        `is refused in the inbox, and those behind it are taken: ${what}${left}`,
        async () => {
          const schema = nextSchema();
          await using one = await startReplica(
            database.url,
            schema,
            asking([]),
          );
          await using other = await startReplica(
            database.url,
            schema,
            speaking(new Gates(0)),
          );
          const taskId = await begin(one, "go");
          await followed(one, taskId);
          await database.run(
            `INSERT INTO ${schema}.inbox (task_id, request) VALUES ('${taskId}', ${request})`,
          );
          const { task } = await other.client.tasks.cancelTask(
            { taskId },
            { timeoutMs: LIMIT_MS },
          );
          expect(task?.state).toBe(TaskState.CANCELED);
          const rows = await database.run(
            `SELECT refusal IS NULL AS taken FROM ${schema}.inbox WHERE answered_at IS NOT NULL`,
          );
          expect([rows, one.errors]).toEqual([[{ taken: false }], []]);
        },
      );
    }

    for (const { what, data, left } of [
      { what: "not events", data: NOT_PROTOBUF, left: "" },
      { what: "too large", data: OVERSIZED, left: LEFT_TO_CI },
    ]) {
      it.skipIf(left !== "")(
        `costs the task that it is in, and no other: ${what}${left}`,
        async () => {
          const schema = nextSchema();
          await using one = await startReplica(
            database.url,
            schema,
            speaking(new Gates(0)),
          );
          const [lost, kept] = [
            await begin(one, "lost"),
            await begin(one, "kept"),
          ];
          for (const taskId of [lost, kept]) await followed(one, taskId);
          await database.run(
            `UPDATE ${schema}.event SET data = ${data} WHERE task_id = '${lost}'`,
          );
          await using other = await startReplica(
            database.url,
            schema,
            speaking(new Gates(0)),
          );
          await expect(read(other, lost)).rejects.toThrow(
            "restore the store from a backup",
          );
          for (const replica of [one, other]) {
            expect((await read(replica, kept)).task?.state).toBe(
              TaskState.COMPLETED,
            );
            const { tasks } = await replica.client.tasks.listTasks({});
            const cases = new Map(
              tasks.map(({ id, lastEvent }) => [id, lastEvent?.payload.case]),
            );
            expect([cases.get(lost), cases.get(kept)]).toEqual([
              "notice",
              "stateChange",
            ]);
            const begun = await replica.client.tasks.sendMessage({
              message: textMessage(crypto.randomUUID(), "more"),
            });
            expect(begun.task?.state).toBe(TaskState.COMPLETED);
          }
        },
      );
    }

    it("that holds no approvals allows nothing, and the server says what to do", async () => {
      const schema = nextSchema();
      await using one = await startReplica(
        database.url,
        schema,
        speaking(new Gates(0)),
      );
      await database.run(
        `UPDATE ${schema}.saved_approvals SET data = ${NOT_PROTOBUF}`,
      );
      await expect(one.store.shared.approvals.read()).rejects.toThrow(
        'table "saved_approvals" holds a row',
      );
      const { task } = await one.client.tasks.sendMessage({
        message: textMessage(crypto.randomUUID(), "go"),
      });
      expect(task?.state).toBe(TaskState.COMPLETED);
    });
  },
);

function read({ client }: Replica, taskId: string) {
  return client.tasks.getTask({ taskId });
}

function messageWithNaN(): Uint8Array {
  const dataValue = {
    kind: { case: "numberValue" as const, value: Number.NaN },
  };
  const message = {
    messageId: "nan",
    parts: [{ content: { case: "dataValue" as const, value: dataValue } }],
  };
  return toBinary(
    InboxRequestSchema,
    create(InboxRequestSchema, {
      request: { case: "message", value: { message } },
    }),
  );
}

function hexOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("hex");
}
