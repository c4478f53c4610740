import { mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { MessageInitShape } from "@bufbuild/protobuf";
import {
  confirmationPart,
  type DevtoolClient,
  pendingToolCalls,
  streamMessage,
  textMessage,
} from "@devtool/client";
import { serveCodingAgent } from "@devtool/coding-agent";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import {
  emptyTask,
  reduceTask,
  type SendMessageRequestSchema,
  type Task,
  TaskState,
} from "@devtool/schema";
import { beforeEach, describe, expect, it } from "vitest";
import { createClient } from "../connection/connection.ts";
import { runCommand } from "../testing/run-command.ts";

const RULE =
  '[[rule]]\ntool = [ "write_file" ]\npath = [ "a.txt" ]\ndecision = "allow"\nworkspace = "/w"\n';

describe("devtool backup and restore", () => {
  let root: string;
  let data: string;
  let file: string;
  beforeEach(async () => {
    root = temporaryDirectory();
    data = join(root, "data");
    file = join(root, "devtool.backup");
    await mkdir(join(root, "workspace"));
    await mkdir(data, { mode: 0o700 });
  });

  it("backs up a server that works, and the question that was open is answered in the copy", async () => {
    await writeFile(join(data, "saved-approvals.toml"), RULE, { mode: 0o600 });
    await writeFile(join(data, "backup.partial"), "left by a killed server");
    let asked: Task;
    {
      await using server = await serve(data);
      asked = await ask(server);
      const client = await createClient(server, "connect");
      const busy = Promise.all(
        Array.from({ length: 4 }, () => say(client, "say 300 200")),
      );
      const { url, token } = server;
      const made = await backup("--url", url, "--token", token);
      expect(made).toMatchObject({ code: 0, err: "" });
      await busy;
      expect(await readdir(data)).not.toContain("backup.partial");
    }
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const restored = await restore(join(root, "copy"));
    expect(restored).toMatchObject({ code: 0, err: "" });
    expect(restored.out).toMatch(
      /^restored [1-5] tasks? and [12] files? \(saved-approvals\.toml(?:, signing-keys\.json)?\)\nverified 1 audit record; the last has the hash \S{44}\n$/,
    );
    const saved = join(root, "copy", "saved-approvals.toml");
    expect(await readFile(saved, "utf8")).toBe(RULE);
    await using server = await serve(join(root, "copy"));
    const ended = await answer(server, asked);
    expect(ended.state).toBe(TaskState.COMPLETED);
  });

  it("backs up a directory that no server uses, with the same audit log", async () => {
    {
      await using server = await serve(data);
      await answer(server, await ask(server));
    }
    const { code, out } = await backup();
    expect(code).toBe(0);
    expect(out).toMatch(
      /^backed up 1 task and 0 files\nverified 4 audit records; /,
    );
    const copy = join(root, "copy");
    expect((await restore(copy)).out).toBe(
      out.replace("backed up", "restored"),
    );
    expect(await runCommand(["backup", file, "--data", copy])).toEqual({
      code: 1,
      out: "",
      err: `devtool: ${file} exists already: choose a new file\n`,
    });
  });

  it("keeps the signatures of deletions, in a copy of the restored store as well", async () => {
    const keys = join(root, "keys.json");
    {
      await using server = await serve(data);
      const client = await createClient(server, "connect");
      const { id: taskId } = await say(client, "text Secret.");
      await client.tasks.deleteTask({ taskId });
      const response = await fetch(`${server.url}/.well-known/jwks.json`);
      await writeFile(keys, await response.text());
    }
    expect(await backup()).toMatchObject({ code: 0 });
    const [copy, other] = [join(root, "copy"), join(root, "other")];
    expect(await restore(copy)).toMatchObject({ code: 0, err: "" });
    expect(await runCommand(["store", "copy", copy, other])).toMatchObject({
      ...{ code: 0, err: "" },
    });
    const verify = (directory: string) => {
      const log = join(directory, "tasks.db");
      return runCommand(["audit", "verify", "--log", log, "--keys", keys]);
    };
    for (const directory of [data, copy, other]) {
      expect(await verify(directory)).toMatchObject({
        code: 0,
        out: expect.stringMatching(
          /\ntask .* was removed by local at .*, signed\n$/,
        ),
      });
    }
    await writeFile(keys, '{"keys":[]}');
    for (const directory of [copy, other]) {
      expect(await verify(directory)).toMatchObject({
        code: 1,
        err: expect.stringContaining(
          "is signed with a key that is not one of the given ones",
        ),
      });
    }
  });

  it("changes nothing where it cannot restore", async () => {
    {
      await using server = await serve(data);
      await ask(server);
    }
    await backup();
    const before = await readFile(join(data, "tasks.db"));
    expect(await restore(data)).toEqual({
      code: 1,
      out: "",
      err: `devtool: "${data}" has files already: choose a directory that is missing or empty\n`,
    });
    expect(await readFile(join(data, "tasks.db"))).toEqual(before);
    const bytes = await readFile(file);
    const faults: readonly [string, Uint8Array][] = [
      ["is cut off", bytes.subarray(0, bytes.length / 2)],
      ["is not a database", Buffer.from("no database")],
      ["is empty", new Uint8Array()],
    ];
    for (const [fault, content] of faults) {
      await writeFile(file, content);
      const { code, err } = await restore(join(root, "copy"));
      expect(err, fault).toBe(
        `devtool: "${file}" is not a whole backup: name a file that devtool backup wrote\n`,
      );
      expect(code).toBe(1);
    }
    expect((await readdir(root)).sort()).toEqual([
      "data",
      "devtool.backup",
      "workspace",
    ]);
  });

  it("writes no file of a backup outside of the directory", async () => {
    {
      await using server = await serve(data);
      await ask(server);
    }
    await backup();
    using database = new DatabaseSync(file);
    database.exec("INSERT INTO backup_file VALUES ('../evil.json', x'00')");
    database.close();
    const { err } = await restore(join(root, "copy"));
    expect(err).toContain("is not a whole backup");
    expect(await readdir(root)).not.toContain("evil.json");
  });

  it("finds that the audit log of a backup was changed", async () => {
    {
      await using server = await serve(data);
      await ask(server);
    }
    await backup();
    using database = new DatabaseSync(file);
    database.exec("DELETE FROM audit; INSERT INTO audit VALUES (7, x'0807')");
    database.close();
    const { code, err } = await restore(join(root, "copy"));
    expect(err).toContain("the audit log of the backup is damaged: record 1");
    expect(code).toBe(1);
  });

  it("says what is missing", async () => {
    const { code, err } = await backup();
    expect(err).toBe(
      `devtool: no server is running, and ${join(data, "tasks.db")} is missing: name a data directory with --data, or a server with --url\n`,
    );
    expect(code).toBe(1);
  });

  const backup = (...options: readonly string[]) =>
    runCommand(["backup", file, "--data", data, ...options]);
  const restore = (to: string) => runCommand(["restore", file, "--data", to]);

  function serve(dataDirectory: string) {
    return serveCodingAgent({
      workspace: join(root, "workspace"),
      dataDirectory,
    });
  }
});

type Server = Awaited<ReturnType<typeof serveCodingAgent>>;

/** Starts a task that asks whether it may write a file. */
async function ask(server: Server): Promise<Task> {
  return say(await createClient(server, "connect"), "write hello.txt hello");
}

async function answer(server: Server, asked: Task): Promise<Task> {
  const client = await createClient(server, "connect");
  const parts = pendingToolCalls(asked).map((call) =>
    confirmationPart(call, "proceed_once"),
  );
  const message = { messageId: crypto.randomUUID(), parts };
  return follow(client, { message, taskId: asked.id }, asked);
}

function say(client: DevtoolClient, text: string): Promise<Task> {
  const message = textMessage(crypto.randomUUID(), text);
  return follow(client, { message }, emptyTask());
}

async function follow(
  client: DevtoolClient,
  request: MessageInitShape<typeof SendMessageRequestSchema>,
  from: Task,
): Promise<Task> {
  let task = from;
  const { signal } = new AbortController();
  for await (const event of streamMessage(client, request, signal)) {
    task = reduceTask(task, event);
  }
  return task;
}
