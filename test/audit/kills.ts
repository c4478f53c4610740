import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as delay } from "node:timers/promises";
import type { AuditRecord, TaskEvent } from "@devtool/schema";
import { SqliteTaskStore } from "@devtool/server/store";
import { startServerProcess } from "../durability/crash/server-process.ts";
import { Conversation } from "./conversation.ts";

/** The logs of all tasks of a store, each in order, and the audit log. */
export interface StoredLogs {
  readonly events: readonly TaskEvent[];
  readonly records: readonly AuditRecord[];
}

/** Reads the file of a server that does not run. */
export async function readStore(path: string): Promise<StoredLogs> {
  await using store = await SqliteTaskStore.open(path);
  const { tasks } = await store.list({ limit: 100_000 });
  const logs = await Promise.all(
    tasks.map(({ last }) => Array.fromAsync(store.readEvents(last.taskId, 0n))),
  );
  return {
    events: logs.flat(),
    records: await Array.fromAsync(store.readAudit(0n)),
  };
}

/**
 * Starts a server, has users give it jobs and approve what they ask, and kills
 * it `lifeMs` after the first question. Gives what its file has then.
 */
export async function killedAfter(
  root: string,
  lifeMs: number,
): Promise<StoredLogs> {
  const server = await startServerProcess({
    data: join(root, "data"),
    workspace: join(root, "workspace"),
  });
  const end = new AbortController();
  const asked = Promise.withResolvers<void>();
  const users = Array.from({ length: 3 }, () =>
    work(new Conversation(server.info, end.signal), asked.resolve).catch(
      () => undefined,
    ),
  );
  await asked.promise;
  await delay(lifeMs);
  await server.kill();
  end.abort();
  await Promise.all(users);
  return readStore(join(root, "data/tasks.db"));
}

async function work(user: Conversation, asked: () => void): Promise<never> {
  for (;;) {
    const task = await user.start(
      `read missing.txt x2\nwrite ${crypto.randomUUID()}.txt one`,
    );
    asked();
    await user.answer(task, "proceed_once");
  }
}

/**
 * Takes the newest audit record out, as if it had been written in a commit of
 * its own that did not come.
 */
export function forgetLastRecord(path: string): void {
  const database = new DatabaseSync(path);
  database.exec(
    "DELETE FROM audit WHERE number = (SELECT max(number) FROM audit)",
  );
  database.close();
}
