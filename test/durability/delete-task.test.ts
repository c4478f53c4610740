import {
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Code } from "@connectrpc/connect";
import type { DevtoolClient } from "@devtool/client";
import { serveCodingAgent } from "@devtool/coding-agent";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { ApprovalMode, AuditAction, TaskState } from "@devtool/schema";
import { type DevtoolServer, verifyAudit } from "@devtool/server";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createIssuer } from "../auth/issuer.ts";
import { CLIENTS, clientOf } from "../client-of.ts";

const LIMIT_MS = 120_000;

describe("DeleteTask", () => {
  let root: string;
  let server: DevtoolServer;
  let client: DevtoolClient;
  let stranger: DevtoolClient;

  beforeEach(async () => {
    root = temporaryDirectory();
    await mkdir(join(root, "workspace"));
    const issuer = await createIssuer();
    server = await serveCodingAgent({
      workspace: join(root, "workspace"),
      dataDirectory: join(root, "data"),
      sandbox: "none",
      authentication: { jwt: issuer.options },
    });
    client = clientOf(server);
    const token = await issuer.tokenFor("bob");
    stranger = clientOf({ url: server.url, token });
  });
  afterEach(() => server.close());

  it.each(["Connect", "gRPC", "gRPC-Web"] as const)(
    "deletes a task that has ended, over %s, and with it what it showed",
    async (binding) => {
      const own = CLIENTS[binding](server);
      const secret = "correct-horse-battery";
      const id = await completed(client, `read ${secret}.txt\ntext end`);
      await own.tasks.deleteTask({ taskId: id, clientLabel: "a test" });
      await expect(own.tasks.getTask({ taskId: id })).rejects.toMatchObject({
        code: Code.NotFound,
      });
      expect((await own.tasks.listTasks({})).tasks).toEqual([]);
      const records = await recordsOf(own);
      expect(records.at(-1)).toMatchObject({
        action: AuditAction.TASK_DELETED,
        taskId: id,
        principal: "local",
        actor: "",
        clientLabel: "a test",
      });
      expect(records.at(-1)?.digest).toHaveLength(32);
      expect(records.filter(({ shown }) => shown !== "")).toEqual([]);
      expect(await verifyAudit(iterate(records))).toMatchObject({
        fault: undefined,
        deleted: [{ taskId: id, by: "local", texts: 1 }],
      });
      // Nothing of it is left in the files, not in free pages either.
      for (const name of readdirSync(join(root, "data"))) {
        if (!name.startsWith("tasks.db")) continue;
        const bytes = readFileSync(join(root, "data", name));
        expect([name, bytes.includes(secret)]).toEqual([name, false]);
      }
    },
  );

  it("leaves no row and no file that names a task with a process and a push config, but its tombstone", async () => {
    const data = join(root, "whole");
    const own = await serveCodingAgent({
      ...{ workspace: join(root, "workspace"), dataDirectory: data },
      ...{ sandbox: "none", approvalMode: ApprovalMode.YOLO },
      pushTargets: ["127.0.0.1:*"],
    });
    await using stack = new AsyncDisposableStack();
    stack.defer(() => own.close());
    const mine = clientOf(own);
    const script = "write a.txt one\nnext\nrun sleep 100 &\ntext end";
    const id = await completed(mine, script);
    const config = { id: "c", taskId: id, url: "http://127.0.0.1:9/" };
    await mine.push.setPushConfig({ config });
    expect(Object.keys(namedIn(data, id))).not.toEqual([]);
    await mine.tasks.deleteTask({ taskId: id });
    await own.close();
    expect(namedIn(data, id)).toEqual({ "tasks.db": NAMES_LEFT });
  });

  it("deletes nothing while the deletion cannot be signed", async () => {
    const dataDirectory = join(root, "unsigned");
    const own = await serveCodingAgent({
      ...{ workspace: join(root, "workspace"), dataDirectory },
    });
    await using stack = new AsyncDisposableStack();
    stack.defer(() => own.close());
    const mine = clientOf(own);
    const taskId = await completed(mine, "text Hi.");
    const keys = join(dataDirectory, "signing-keys.json");
    writeFileSync(keys, "damaged", { mode: 0o600 });
    await expect(mine.tasks.deleteTask({ taskId })).rejects.toThrow(
      "it cannot be read: repair or remove it",
    );
    expect((await mine.tasks.getTask({ taskId })).task?.id).toBe(taskId);
    rmSync(keys);
    await mine.tasks.deleteTask({ taskId });
    const records = mine.audit.readAudit({ taskId });
    const { record } = (await Array.fromAsync(records)).at(-1) ?? {};
    expect(record?.signature).toMatch(/^[\w-]+\.\.[\w-]+$/);
  });

  it("refuses a task that works or waits, until it is canceled", async () => {
    const { task } = await client.tasks.sendMessage({
      message: message("write a.txt b"),
    });
    const taskId = task?.id ?? "";
    await expect(client.tasks.deleteTask({ taskId })).rejects.toMatchObject({
      code: Code.FailedPrecondition,
      rawMessage: expect.stringContaining("is input-required: cancel it first"),
    });
    await client.tasks.cancelTask({ taskId });
    await client.tasks.deleteTask({ taskId });
  });

  it("shows a stranger nothing: foreign, deleted and unknown ids are the same, and stay", async () => {
    const id = await completed(client, "text mine");
    const gone = await completed(client, "text gone");
    await client.tasks.deleteTask({ taskId: gone });
    for (const taskId of [id, gone, "nope"]) {
      const refused = stranger.tasks.deleteTask({ taskId });
      await expect(refused).rejects.toMatchObject({
        code: Code.NotFound,
        rawMessage: `task "${taskId}" does not exist: see the list of tasks`,
      });
    }
    expect((await client.tasks.getTask({ taskId: id })).task?.id).toBe(id);
  });

  it("lets the operator delete the task of another principal, and records both", async () => {
    const id = await completed(stranger, "text theirs");
    await client.tasks.deleteTask({ taskId: id });
    await expect(stranger.tasks.getTask({ taskId: id })).rejects.toMatchObject({
      code: Code.NotFound,
    });
    const last = (await recordsOf(client)).at(-1);
    expect(last).toMatchObject({ taskId: id, actor: "local" });
    expect(last?.principal).toContain("bob");
  });

  it("ends open streams with NotFound, and tells lists of the caller alone", async () => {
    const asked = await client.tasks.sendMessage({
      message: message("write a.txt b"),
    });
    const taskId = asked.task?.id ?? "";
    const signal = AbortSignal.timeout(LIMIT_MS);
    // A stream of a task that has ended ends by itself, but for a slow reader.
    const events = client.tasks.subscribeTask({ taskId }, { signal });
    const lists = [client, stranger].map((each) =>
      each.tasks.watchTasks({}, { signal })[Symbol.asyncIterator](),
    );
    for (const list of lists)
      while (!(await list.next()).value?.snapshotComplete);
    await client.tasks.cancelTask({ taskId });
    await client.tasks.deleteTask({ taskId });
    const [own, foreign] = lists;
    for (;;) {
      const { value } = (await own?.next()) ?? {};
      if (!value?.removed) continue;
      expect(value).toMatchObject({ excluded: true, task: { id: taskId } });
      break;
    }
    const theirs = await completed(stranger, "text theirs");
    expect((await foreign?.next())?.value?.task?.id).toBe(theirs);
    // It has all events, or ends with the error.
    await Array.fromAsync(events).catch((reason: unknown) =>
      expect(reason).toMatchObject({ code: Code.NotFound }),
    );
  });

  it("does not run a retry of a deleted task's message, and says why", async () => {
    const first = message("text once");
    const { task } = await client.tasks.sendMessage({ message: first });
    await client.tasks.deleteTask({ taskId: task?.id ?? "" });
    await expect(
      client.tasks.sendMessage({ message: first }),
    ).rejects.toMatchObject({
      code: Code.AlreadyExists,
      rawMessage: expect.stringContaining("which was deleted"),
    });
    expect((await client.tasks.listTasks({})).tasks).toEqual([]);
    // The id is the stranger's to use.
    const own = await stranger.tasks.sendMessage({ message: first });
    expect(own.task?.state).toBe(TaskState.COMPLETED);
  });

  it("says in a task that goes on from a deleted one that it is gone", async () => {
    const first = await client.tasks.sendMessage({
      message: message("text one"),
    });
    const { id = "", contextId = "" } = first.task ?? {};
    await client.tasks.deleteTask({ taskId: id });
    const { task } = await client.tasks.sendMessage({
      message: { ...message("text two"), referenceTaskIds: [id] },
      contextId,
    });
    const events = await Array.fromAsync(
      client.tasks.subscribeTask({ taskId: task?.id ?? "" }),
    );
    const notices = events.flatMap(({ event }) =>
      event?.payload.case === "notice" ? [event.payload.value.text] : [],
    );
    expect(notices).toEqual([
      `Task ${JSON.stringify(id)}, which this one continues, does not exist any more: the agent does not know what was said there.`,
    ]);
  });
});

/** The tables that name a deleted task: for good, and for a day. */
const NAMES_LEFT = ["audit", "deleted_message"];

/** The files of a directory that name a task; of a database, the tables. */
function namedIn(directory: string, id: string): Record<string, string[]> {
  const found: Record<string, string[]> = {};
  for (const entry of readdirSync(directory, { recursive: true })) {
    const name = String(entry);
    const path = join(directory, name);
    if (!statSync(path).isFile()) continue;
    if (!`${name} ${readFileSync(path, "latin1")}`.includes(id)) continue;
    found[name] = /^tasks\.db/.test(name) ? [] : ["file"];
  }
  if (!found["tasks.db"]) return found;
  try {
    using database = new DatabaseSync(join(directory, "tasks.db"));
    const tables = database
      .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY 1")
      .all()
      .map(({ name }) => String(name));
    found["tasks.db"] = tables.filter((table) =>
      database
        .prepare(`SELECT * FROM ${table}`)
        .all()
        .some((row) => Object.values(row).some((value) => names(value, id))),
    );
  } catch {
    // A server has it open.
  }
  return found;
}

function names(value: unknown, id: string): boolean {
  return value instanceof Uint8Array
    ? Buffer.from(value).includes(id)
    : String(value).includes(id);
}

function message(text: string) {
  const content = { case: "text", value: text } as const;
  return { messageId: crypto.randomUUID(), parts: [{ content }] };
}

/** Has the agent do something, and returns the id of the task. */
async function completed(client: DevtoolClient, text: string): Promise<string> {
  const { task } = await client.tasks.sendMessage({ message: message(text) });
  expect(task?.state).toBe(TaskState.COMPLETED);
  return task?.id ?? "";
}

async function recordsOf(client: DevtoolClient) {
  const answers = await Array.fromAsync(client.audit.readAudit({}));
  return answers.flatMap(({ record }) => record ?? []);
}

async function* iterate<T>(items: readonly T[]): AsyncIterable<T> {
  yield* items;
}
