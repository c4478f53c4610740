import { runCommand } from "@devtool/cli/testing";
import { createDevtoolClient, textMessage } from "@devtool/client";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { TaskState } from "@devtool/schema";
import { createServer, type DevtoolServer } from "@devtool/server";
import { MemoryTaskStore } from "@devtool/server/store";
import { created, text } from "@devtool/server/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { namedAgent } from "../scenarios/named-agent.ts";

describe("a server with several agents", () => {
  let workspace: string;
  let elsewhere: string;
  let server: DevtoolServer;
  let flags: readonly string[];

  beforeAll(async () => {
    workspace = temporaryDirectory();
    elsewhere = temporaryDirectory();
    const agents = { ada: namedAgent("Ada"), bob: namedAgent("Bob") };
    server = await createServer({
      agents,
      workspace,
      workspaceRoots: [workspace, elsewhere],
    });
    flags = ["--url", server.url, "--token", server.token];
  });
  afterAll(() => server.close());

  it("runs a job by the first one, or by the one of --agent", async () => {
    expect((await runCommand(["run", ...flags, "hello"])).out).toContain(
      "Ada answers",
    );
    expect(
      (await runCommand(["run", ...flags, "--agent", "bob", "hello"])).out,
    ).toContain("Bob answers");
  });

  it("chats with the one of --agent, and continues only its conversations", async () => {
    const chat = ["chat", ...flags, "--agent", "bob"];
    const first = await runCommand(chat, { stdin: "hello\n" });
    expect(first.out).toContain("agent bob");
    expect(first.out).toContain("Bob answers");
    await runCommand(["run", ...flags, "--agent", "ada", "hello"]);
    expect(
      (await runCommand([...chat, "--continue"], { stdin: "hello\n" })).out,
    ).toContain("Bob answers");
  });

  it("lists and runs the slash commands of the one of --agent, in the directory of --workspace", async () => {
    const place = ["--agent", "bob", "--workspace", elsewhere];
    expect((await runCommand(["commands", ...flags])).out).toContain(
      `/where                       Ada in ${workspace}`,
    );
    const listed = await runCommand(["commands", ...flags, ...place]);
    expect(listed.out).toContain(
      `/where                       Bob in ${elsewhere}`,
    );
    expect(
      (await runCommand(["exec", ...flags, ...place, "/where"])).out,
    ).toContain(`Bob answers in ${elsewhere}`);
  });

  it.each([["run"], ["exec"]])(
    "names the agents when the requested one does not exist: %s",
    async (command) => {
      const { code, err } = await runCommand([
        command,
        ...flags,
        "--agent",
        "eve",
        "/where",
      ]);
      expect([code, err]).toEqual([1, expect.stringMatching(/eve.*ada, bob/s)]);
    },
  );

  it("does not take --agent beside --task, whose agent stays", async () => {
    const { code, err } = await runCommand([
      "run",
      ...flags,
      "--agent",
      "bob",
      "--task",
      "abcd",
      "hello",
    ]);
    expect([code, err]).toEqual([
      2,
      expect.stringContaining("cannot be used with option '--task"),
    ]);
  });
});

describe("a server with one agent", () => {
  it("records its name, and goes on with a task of an older server without", async () => {
    const older = new MemoryTaskStore();
    await older.append({ events: [created("old", 1, "local")] });
    const working = text("old", 2n);
    const state = TaskState.INPUT_REQUIRED;
    await older.append({ events: [{ ...working, state }] });
    await using server = await createServer({
      agents: { ada: namedAgent("Ada") },
      workspace: temporaryDirectory(),
      openStore: async () => older,
    });
    const { tasks } = createDevtoolClient(await server.transport());
    const send = (taskId: string, contextId: string) =>
      tasks.sendMessage({
        message: textMessage(crypto.randomUUID(), "hello"),
        ...{ taskId, contextId },
      });
    const { task: begun } = await send("", "");
    const { task: old } = await send("old", "c");
    const value = expect.stringContaining("Ada answers");
    const said = [{ content: { case: "text", value } }];
    expect(begun?.history.at(-1)?.parts).toMatchObject(said);
    expect(old?.history.at(-1)?.parts).toMatchObject(said);
    const found = await tasks.listTasks({ agent: "ada" });
    expect(found.tasks.map(({ id, agent }) => [id, agent])).toEqual([
      [begun?.id, "ada"],
    ]);
    const all = await tasks.listTasks({});
    expect(all.tasks.map(({ id }) => id).toSorted()).toEqual(
      [begun?.id, "old"].toSorted(),
    );
  });
});
