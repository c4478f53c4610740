import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { MessageInitShape } from "@bufbuild/protobuf";
import {
  confirmationPart,
  type DevtoolClient,
  pendingToolCalls,
  streamMessage,
  textMessage,
} from "@devtool/client";
import { serveCodingAgent } from "@devtool/coding-agent";
import { fileText } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import {
  findPostgres,
  startPostgres,
  withoutPostgres,
} from "@devtool/postgres/testing";
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

const bin = findPostgres();
const why = withoutPostgres(bin);

describe("devtool store copy", () => {
  let root: string;
  beforeEach(async () => {
    root = temporaryDirectory();
    await mkdir(join(root, "workspace"));
  });

  it("copies a data directory, in which a task that asks is answered then", async () => {
    const asked = await ask(join(root, "data"));
    expect(await copy(join(root, "data"), join(root, "copied"))).toMatchObject({
      code: 0,
      err: "",
    });
    const ended = await answer(join(root, "copied"), asked);
    expect(ended.state).toBe(TaskState.COMPLETED);
  });

  it.skipIf(bin === undefined)(
    `copies into PostgreSQL and out of it, with the same audit log${why}`,
    async () => {
      await using postgres = await startPostgres(bin ?? "");
      const asked = await ask(join(root, "data"));
      const saved =
        '[[rule]]\ntool = [ "write_file" ]\npath = [ "a.txt" ]\ndecision = "allow"\nworkspace = "/w"\n';
      await writeFile(join(root, "data", "saved-approvals.toml"), saved, {
        mode: 0o600,
      });
      const into = await copy(
        join(root, "data"),
        postgres.url,
        "--schema",
        "agents",
      );
      expect(into).toMatchObject({ code: 0, err: "" });
      expect(into.out).toMatch(
        /^copied 1 task with \d+ events, 0 push configs and 1 saved approval\nverified 1 audit record; the last has the hash \S{44}\n$/,
      );
      expect(
        await copy(postgres.url, join(root, "back"), "--schema", "agents"),
      ).toEqual(into);
      expect((await answer(join(root, "back"), asked)).state).toBe(
        TaskState.COMPLETED,
      );
      expect(fileText(root, "back/saved-approvals.toml")).toContain(saved);
    },
  );

  it("refuses a source that is missing, and does not create it", async () => {
    const missing = join(root, "missing");
    const refused = {
      code: 1,
      out: "",
      err: `devtool: ${missing}/tasks.db is missing: name a data directory, a URL such as postgres://host/database, or module:PATH\n`,
    };
    expect(await copy(missing, join(root, "copied"))).toEqual(refused);
    expect(await copy(missing, join(root, "copied"))).toEqual(refused);
  });

  it("copies into the store of a module and out of it, which has its data directory", async () => {
    const asked = await ask(join(root, "data"));
    const module = join(root, "store.mjs");
    const entry = import.meta.resolve("@devtool/server/store");
    await writeFile(
      module,
      `import { SqliteTaskStore } from ${JSON.stringify(entry)};
       export const openStore = ({ dataDirectory }) => SqliteTaskStore.open(dataDirectory + "/own.db");`,
    );
    const saved =
      '[[rule]]\ntool = [ "write_file" ]\npath = [ "a.txt" ]\ndecision = "allow"\nworkspace = "/w"\n';
    const kept = join(root, "data", "saved-approvals.toml");
    await writeFile(kept, saved, { mode: 0o600 });
    // Beside the file, and then in a directory of its own.
    for (const name of ["data", "mine"]) {
      const data = ["--data", join(root, name)];
      const into = await copy(join(root, "data"), `module:${module}`, ...data);
      expect(into).toMatchObject({ code: 0, err: "" });
      const out = await copy(
        `module:${module}`,
        join(root, `${name}-2`),
        ...data,
      );
      expect(out).toMatchObject({ code: 0, err: "" });
      expect(out.out).toContain("1 saved approval\n");
      const copied = join(root, `${name}-2`, "saved-approvals.toml");
      expect(await readFile(copied, "utf8")).toContain('"a.txt"');
    }
    const ended = await answer(join(root, "mine-2"), asked);
    expect(ended.state).toBe(TaskState.COMPLETED);
  });

  it("refuses a target that has tasks", async () => {
    await ask(join(root, "data"));
    await copy(join(root, "data"), join(root, "copied"));
    expect(await copy(join(root, "data"), join(root, "copied"))).toEqual({
      code: 1,
      out: "",
      err: "devtool: the target of the copy has tasks already: choose an empty directory or schema\n",
    });
  });

  it("refuses a directory that a server uses", async () => {
    await using _server = await serve(join(root, "data"));
    expect(await copy(join(root, "data"), join(root, "copied"))).toMatchObject({
      code: 1,
      err: expect.stringContaining("tasks.db"),
    });
  });

  it("refuses a URL of another database, without its password", async () => {
    await ask(join(root, "data"));
    const { code, err } = await copy(
      join(root, "data"),
      "mysql://me:secret@host/db",
    );
    expect(code).toBe(1);
    expect(err).toBe(
      "devtool: the URL of the store is not a URL of PostgreSQL: write postgres://user:password@host:5432/database\n",
    );
  });

  function serve(dataDirectory: string) {
    return serveCodingAgent({
      workspace: join(root, "workspace"),
      dataDirectory,
    });
  }

  /** Starts a task that asks whether it may write a file. */
  async function ask(dataDirectory: string): Promise<Task> {
    await using server = await serve(dataDirectory);
    const client = await createClient(server, "connect");
    return await follow(
      client,
      { message: textMessage(crypto.randomUUID(), "write hello.txt hello") },
      emptyTask(),
    );
  }

  async function answer(dataDirectory: string, asked: Task): Promise<Task> {
    await using server = await serve(dataDirectory);
    const client = await createClient(server, "connect");
    const parts = pendingToolCalls(asked).map((call) =>
      confirmationPart(call, "proceed_once"),
    );
    return await follow(
      client,
      { message: { messageId: crypto.randomUUID(), parts }, taskId: asked.id },
      asked,
    );
  }
});

async function follow(
  client: DevtoolClient,
  request: MessageInitShape<typeof SendMessageRequestSchema>,
  from: Task,
): Promise<Task> {
  let task = from;
  for await (const event of streamMessage(
    client,
    request,
    AbortSignal.timeout(300_000),
  )) {
    task = reduceTask(task, event);
  }
  return task;
}

function copy(...args: readonly string[]) {
  return runCommand(["store", "copy", ...args]);
}
