import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import {
  create,
  fromBinary,
  fromJsonString,
  type MessageInitShape,
} from "@bufbuild/protobuf";
import { timestampNow } from "@bufbuild/protobuf/wkt";
import {
  confirmationPart,
  pendingToolCalls,
  streamMessage,
  textMessage,
} from "@devtool/client";
import { serveCodingAgent } from "@devtool/coding-agent";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import {
  AuditAction,
  AuditRecordSchema,
  emptyTask,
  reduceTask,
  type SendMessageRequestSchema,
  type Task,
} from "@devtool/schema";
import { chainRecord } from "@devtool/server/store";
import { beforeEach, describe, expect, it } from "vitest";
import { createClient } from "../connection/connection.ts";
import { runCommand } from "../testing/run-command.ts";

describe("devtool audit", () => {
  let root: string;
  beforeEach(async () => {
    root = temporaryDirectory();
    await mkdir(join(root, "workspace"));
  });

  it("checks an empty log", async () => {
    expect(await audit("verify")).toEqual({
      code: 0,
      out: "verified 0 records\n",
      err: "",
    });
  });

  it("counts the records that it verified, and says what the head of the log is, which a later check knows again", async () => {
    await work();
    const { code, out } = await audit("verify");
    const [, head = ""] =
      /^verified 4 records; the last has the hash ([A-Za-z0-9+/]{43}=)\n$/.exec(
        out,
      ) ?? [];
    expect(code).toBe(0);
    await work();
    expect(await audit("verify", "--head", head)).toMatchObject({
      code: 0,
      out: expect.stringContaining("verified 8 records"),
    });
  });

  it("does not say that records were cut off where --head is not a hash", async () => {
    expect(await audit("verify", "--head", "nope")).toEqual({
      code: 2,
      out: "",
      err: 'devtool: --head "nope" is not a hash: give the one that an earlier "devtool audit verify" printed\n',
    });
  });

  it("names the log file that cannot be read", async () => {
    expect(
      await runCommand(["audit", "verify", "--log", join(root, "nope.db")]),
    ).toMatchObject({
      code: 1,
      err: expect.stringMatching(
        /^devtool: audit log ".*nope\.db" cannot be read: ENOENT/,
      ),
    });
  });

  it("exports every record as a line of JSON", async () => {
    await work();
    const { out } = await audit("export");
    const records = out
      .trimEnd()
      .split("\n")
      .map((line) => fromJsonString(AuditRecordSchema, line));
    expect(
      records.map(
        ({ number, action, toolName }) =>
          `${number} ${AuditAction[action]} ${toolName}`,
      ),
    ).toEqual([
      "1 ASKED write_file",
      "2 APPROVED write_file",
      "3 STARTED write_file",
      "4 SUCCEEDED write_file",
    ]);
    expect(records[0]?.shown).toContain('"content":"hello"');
  });

  it("names the record that was changed or is missing", async () => {
    await work();
    change(
      "UPDATE audit SET data = unhex(replace(hex(data), hex('write_file'), hex('read_files'))) WHERE number = 2",
    );
    expect(await audit("verify")).toMatchObject({
      code: 1,
      err: "devtool: audit log: record 2 was changed (1 record before it verified)\n",
    });
    change("DELETE FROM audit WHERE number = 2");
    expect(await audit("verify")).toMatchObject({
      code: 1,
      err: "devtool: audit log: record 2 is missing: the next one is 3 (1 record before it verified)\n",
    });
  });

  it("fails for a row that is not a record, without naming what is in it", async () => {
    await work();
    change("UPDATE audit SET data = x'ffff' WHERE number = 2");
    expect(await audit("verify")).toEqual({
      code: 1,
      out: "",
      err: expect.stringContaining(
        "the audit log holds a row that is not a record: restore the store from a backup",
      ),
    });
  });

  it("finds with --head that the end was cut off, which no check can see without it", async () => {
    await work();
    const [, head = ""] = /hash (\S+)/.exec((await audit("verify")).out) ?? [];
    change("DELETE FROM audit WHERE number > 2");
    expect((await audit("verify")).code).toBe(0);
    expect(await audit("verify", "--head", head)).toMatchObject({
      code: 1,
      err: `devtool: audit log: no record has the hash "${head}": the end of the log was cut off (2 records before it verified)\n`,
    });
    // Also when a server wrote on from where the log was cut.
    await work();
    expect((await audit("verify", "--head", head)).code).toBe(1);
  });

  it("finds with --keys a deletion that somebody without the keys of the server made", async () => {
    const keys = join(root, "jwks.json");
    {
      await using server = await serve();
      const answer = await fetch(`${server.url}/.well-known/jwks.json`);
      await writeFile(keys, await answer.text());
    }
    const one = await work();
    const other = await work();
    {
      await using server = await serve();
      const client = await createClient(server, "connect");
      await client.tasks.deleteTask({ taskId: one });
    }
    const removed = (id: string) =>
      `task ${id} was removed by local at [^ ]+, with what 1 of them showed`;
    const signed = await audit("verify", "--keys", keys, keys);
    expect([signed.code, signed.err]).toEqual([0, ""]);
    expect(signed.out).toMatch(new RegExp(`\\n${removed(one)}, signed\\n$`));
    // Who can write the database only removes a text, and says that a caller
    // deleted its task.
    await forgeDeletion(join(root, "data/tasks.db"), other);
    const unchecked = await audit("verify");
    expect([unchecked.code, unchecked.err]).toEqual([0, ""]);
    expect(unchecked.out).toMatch(
      new RegExp(
        `${removed(other)}\\nno signature of a deletion was checked: give the public keys that you kept with --keys\\n$`,
      ),
    );
    expect(await audit("verify", "--keys", keys)).toEqual({
      code: 1,
      out: "",
      err: `devtool: audit log: record 10, which says that task "${other}" was deleted, has no signature (9 records before it verified)\n`,
    });
  });

  it.each([
    ["nope.json", "cannot be read: name an existing file"],
    ["empty.json", 'holds no key set: it needs a list of "keys", in JSON'],
  ])("says that --keys %s %s", async (name, problem) => {
    const path = join(root, name);
    if (name === "empty.json") await writeFile(path, "{}");
    expect(await audit("verify", "--keys", path)).toEqual({
      code: 1,
      out: "",
      err: `devtool: --keys "${path}" ${problem}\n`,
    });
  });

  function serve() {
    return serveCodingAgent({
      workspace: join(root, "workspace"),
      dataDirectory: join(root, "data"),
    });
  }

  /**
   * Has a file written, with approval: four records. Returns the id of the task.
   */
  async function work(): Promise<string> {
    await using server = await serve();
    const client = await createClient(server, "connect");
    const signal = AbortSignal.timeout(300_000);
    const follow = async (
      request: MessageInitShape<typeof SendMessageRequestSchema>,
      from: Task,
    ): Promise<Task> => {
      let task = from;
      for await (const event of streamMessage(client, request, signal)) {
        task = reduceTask(task, event);
      }
      return task;
    };
    const message = textMessage(crypto.randomUUID(), "write hello.txt hello");
    const asked = await follow({ message }, emptyTask());
    const parts = pendingToolCalls(asked).map((call) =>
      confirmationPart(call, "proceed_once"),
    );
    await follow(
      { message: { messageId: crypto.randomUUID(), parts }, taskId: asked.id },
      asked,
    );
    return asked.id;
  }

  function change(sql: string): void {
    const database = new DatabaseSync(join(root, "data/tasks.db"));
    database.exec(sql);
    database.close();
  }

  async function audit(...args: readonly string[]) {
    await using server = await serve();
    return await runCommand([
      "audit",
      ...args,
      "--url",
      server.url,
      "--token",
      server.token,
    ]);
  }
});

/** Deletes the texts of a task, and chains a record that says it was deleted. */
async function forgeDeletion(path: string, taskId: string): Promise<void> {
  const database = new DatabaseSync(path);
  const last = database
    .prepare("SELECT data FROM audit ORDER BY number DESC LIMIT 1")
    .get();
  const { record, data } = chainRecord(
    create(AuditRecordSchema, {
      action: AuditAction.TASK_DELETED,
      ...{ taskId, principal: "local", sequence: 99n },
      time: timestampNow(),
    }),
    last?.data instanceof Uint8Array
      ? fromBinary(AuditRecordSchema, last.data)
      : undefined,
  );
  database.prepare("DELETE FROM audit_shown WHERE task_id = ?").run(taskId);
  database
    .prepare("INSERT INTO audit (number, data) VALUES (?, ?)")
    .run(record.number, data);
  database.close();
}
