import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fromJsonString, type MessageInitShape } from "@bufbuild/protobuf";
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
      err: `devtool: audit log: no record has the hash "${head}": the end of the log was cut off\n`,
    });
    // Also when a server wrote on from where the log was cut.
    await work();
    expect((await audit("verify", "--head", head)).code).toBe(1);
  });

  function serve() {
    return serveCodingAgent({
      workspace: join(root, "workspace"),
      dataDirectory: join(root, "data"),
    });
  }

  /** Has a file written, with approval: four records. */
  async function work(): Promise<void> {
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
