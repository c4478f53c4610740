import { once } from "node:events";
import { mkdir, readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { textMessage } from "@devtool/client";
import { serveCodingAgent } from "@devtool/coding-agent";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { TaskService, TaskState } from "@devtool/schema";
import type { DevtoolServer } from "@devtool/server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createClient } from "../connection/connection.ts";
import { runCommand } from "../testing/run-command.ts";

describe("devtool tasks", () => {
  let server: DevtoolServer;
  let base: string;

  beforeAll(async () => {
    base = temporaryDirectory();
    await mkdir(join(base, "other"));
    server = await serveCodingAgent({
      workspace: base,
      workspaceRoots: [base],
      sandbox: "none",
    });
    await devtool("run", "text One.\ntext More.");
    await devtool("run", "--workspace", join(base, "other"), "text Two.");
    await devtool("run", "--approve", "never", "write three.txt 3");
  });
  afterAll(() => server.close());

  it("prints a short id, the state, the time, the number of messages and the title of each task, the last changed first", async () => {
    const { lines } = await devtool("tasks");
    expect(
      lines.map((line) => line.split(/ {2,}/).slice(3).join(" | ")),
    ).toEqual([
      "1 message | write three.txt 3",
      "1 message | text Two.",
      "1 message | text One.",
    ]);
    for (const line of lines) {
      expect(line).toMatch(/^[\da-f]{8} {2}\S+ +\d{4}-\d\d-\d\dT\S+Z {2}\S/);
    }
  });

  it.each([
    [["--title", "ONE"], ["text One."]],
    [["--workspace", "other"], ["text Two."]],
    [
      ["--limit", "2"],
      ["write three.txt 3", "text Two."],
    ],
    [["--state", "working"], []],
    [["--agent", "nobody"], []],
  ])("takes filters: %j", async (filter, titles) => {
    const args = filter.map((word) =>
      word === "other" ? join(base, word) : word,
    );
    const { lines, errors } = await devtool("tasks", ...args);
    expect(lines.map((line) => line.split(/ {2,}/)[4])).toEqual(titles);
    expect(errors).toBe(titles.length === 0 ? "no tasks found" : "");
  });

  it("prints nothing among the lines of JSON where there are none", async () => {
    expect(await devtool("tasks", "--json", "--agent", "nobody")).toEqual({
      code: 0,
      lines: [],
      errors: "no tasks found",
    });
  });

  it.each([
    ["--limit", "0"],
    ["--limit", "x"],
    ["--state", "asleep"],
  ])("refuses %s %s", async (...args) => {
    expect((await devtool("tasks", ...args)).code).toBe(2);
  });

  it("takes short ids, and renames", async () => {
    const [line = ""] = (await devtool("tasks", "--title", "two")).lines;
    const id = line.slice(0, 8);
    expect((await devtool("rename", id, "The second")).lines).toEqual([
      `${id}  The second`,
    ]);
    expect((await devtool("tasks", "--title", "second")).lines).toHaveLength(1);
    expect((await devtool("watch", id)).lines.join("\n")).toContain(
      "the title is now: The second",
    );
    expect((await devtool("cancel", "ffffffff")).errors).toContain(
      '"ffffffff"',
    );
    expect(
      (await devtool("run", "--task", id, "text Two more.")).errors,
    ).toContain(`task ${id}`);
    await devtool("rename", id, "text Two.");
  });

  it("exports a task to a new file or standard output, and no file is written over", async () => {
    const [line = ""] = (await devtool("tasks", "--title", "One")).lines;
    const file = join(base, "task.jsonl");
    const exported = await devtool("tasks", "export", line.slice(0, 8), file);
    expect(exported.lines.join()).toMatch(/^exported \d+ events to /);
    const { lines } = await devtool("tasks", "export", line.slice(0, 8));
    expect(lines.join("\n")).toBe((await readFile(file, "utf8")).trimEnd());
    expect(lines.map((event) => JSON.parse(event).sequence)).toEqual(
      lines.map((_event, at) => String(at + 1)),
    );
    const again = await devtool("tasks", "export", line.slice(0, 8), file);
    expect(again).toMatchObject({
      code: 1,
      errors: expect.stringContaining("EEXIST"),
    });
  });

  it("deletes tasks that have ended with --yes alone, where nobody can be asked", async () => {
    await devtool("run", "text Old.");
    const [line = ""] = (await devtool("tasks", "--title", "Old")).lines;
    const id = line.slice(0, 8);
    expect(await devtool("tasks", "delete", id)).toEqual({
      code: 130,
      lines: [`${id}  text Old.`],
      errors: "nothing was deleted: answer y, or pass --yes",
    });
    const client = await createClient(server, "connect");
    const asks = textMessage(crypto.randomUUID(), "write four.txt 4");
    await client.tasks.sendMessage({ message: asks });
    const [waiting = ""] = (await devtool("tasks", "--title", "four")).lines;
    const both = await devtool(
      ...(["tasks", "delete", waiting.slice(0, 8), id, "--yes"] as const),
    );
    expect(both).toMatchObject({
      code: 1,
      lines: [expect.stringMatching(`^deleted ${id}-`)],
      errors: expect.stringContaining("is input-required: cancel it first"),
    });
    expect((await devtool("tasks", "--title", "Old")).lines).toEqual([]);
    expect((await devtool("tasks", "delete", id, "-y")).code).toBe(1);
  });

  it("prunes what has ended and is old, and shows it before", async () => {
    const dry = await devtool(
      ...(["tasks", "prune", "--older-than", "0h", "--dry-run"] as const),
    );
    expect(dry.lines).toHaveLength(3);
    expect(dry.errors).toBe("would delete 3 tasks");
    for (const [age, code] of [
      ["1h", 0],
      ["30", 2],
      ["x", 2],
    ] as const) {
      const none = await devtool("tasks", "prune", "--older-than", age, "-y");
      expect(none).toMatchObject({ code, lines: [] });
    }
    const states = ["--state", "failed", "--older-than", "0h", "-y"] as const;
    expect((await devtool("tasks", "prune", ...states)).lines).toEqual([]);
    const all = await devtool("tasks", "prune", "--older-than", "0h", "-y");
    expect(all.lines).toHaveLength(3);
    // The task that waits is left.
    expect((await devtool("tasks")).lines).toHaveLength(1);
  });

  it("prunes several at a time, which share commits of the store", async () => {
    const ids = ["new", "old", "oldest"];
    const asked: string[] = [];
    const all = Promise.withResolvers<void>();
    const routes = connectNodeAdapter({
      routes: (router) =>
        router.service(TaskService, {
          listTasks: () => ({
            tasks: ids.map((id) => {
              const state = TaskState.COMPLETED;
              return { id, lastEvent: { state, time: timestampFromMs(1) } };
            }),
          }),
          deleteTask: async ({ taskId }) => {
            if (asked.push(taskId) === ids.length) all.resolve();
            await all.promise;
            return {};
          },
        }),
    });
    const http = createServer(routes).listen(0, "127.0.0.1");
    await using stack = new AsyncDisposableStack();
    stack.defer(() => http[Symbol.asyncDispose]());
    await once(http, "listening");
    const { port } = Object(http.address());
    const { code, out } = await runCommand([
      ...["tasks", "prune", "--older-than", "1h", "--yes"],
      ...["--url", `http://127.0.0.1:${port}`, "--token", "t"],
    ]);
    expect([code, linesOf(out).toSorted()]).toEqual([
      0,
      ids.map((id) => `deleted ${id}`),
    ]);
    expect(asked.toSorted()).toEqual(ids);
  });

  it("takes ids over A2A as they are, which cannot be searched there", async () => {
    const { errors } = await devtool("cancel", "--protocol", "a2a", "ffffffff");
    expect(errors).toContain('task "ffffffff"');
  });

  async function devtool(command: string, ...args: readonly string[]) {
    const place = ["--url", server.url, "--token", server.token];
    const { code, out, err } = await runCommand([command, ...place, ...args]);
    return { code, lines: linesOf(out), errors: linesOf(err).join("\n") };
  }
});

function linesOf(text: string): string[] {
  return text.split("\n").filter((line) => line !== "");
}
