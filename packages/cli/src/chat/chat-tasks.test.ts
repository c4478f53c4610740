import { readdir } from "node:fs/promises";
import { create } from "@bufbuild/protobuf";
import { createConnectTransport } from "@connectrpc/connect-node";
import { bearerInterceptor, createDevtoolClient } from "@devtool/client";
import { codingAgent } from "@devtool/coding-agent";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { ApprovalMode, SlashCommandSchema } from "@devtool/schema";
import { type Agent, createServer, type DevtoolServer } from "@devtool/server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { NewSessionOptions } from "../session.ts";
import { ChatTasks, DELIVERY, textPart } from "./chat-tasks.ts";
import { Composer } from "./composer.ts";
import { Outbox } from "./outbox.ts";
import { Printout } from "./printout.ts";

const { signal } = new AbortController();

describe("a slash command of a chat", () => {
  let server: DevtoolServer;
  let workspace: string;

  beforeAll(async () => {
    workspace = temporaryDirectory();
    const agents = {
      devtool: codingAgent({
        approvalMode: ApprovalMode.YOLO,
        sandbox: "none",
      }),
      greeter,
    };
    server = await createServer({ agents, workspace });
  });
  afterAll(() => server.close());

  it("runs in the mode that was chosen during the conversation", async () => {
    const tasks = open({});
    await tasks.say([textPart("text Hello.")], DELIVERY.queue);
    await tasks.run("/shell touch wide.txt");
    tasks.choices.chooseMode(ApprovalMode.PLAN);
    await tasks.run("/shell touch planned.txt");
    expect(await readdir(workspace)).toEqual(["wide.txt"]);
    tasks.close();
  });

  it("does not run with an image, which it would lose, and comes back to be changed", async () => {
    const tasks = open({});
    const onChange = (): void => undefined;
    const printout = new Printout({
      style: () => ({ paint: (_look, text) => text, columns: 200 }),
      onChange,
    });
    const composer = new Composer(() => []);
    const outbox = new Outbox({
      tasks,
      composer,
      printout,
      workspace,
      isHeld: () => false,
      onChange,
    });
    outbox.add("/init like @logo.png.");
    outbox.advance();
    await expect
      .poll(() => composer.text, { timeout: 60_000 })
      .toBe("/init like @logo.png.");
    const printed = printout.entries.flatMap(({ lines }) => lines);
    expect(printed).toContainEqual(
      expect.stringContaining(
        "a slash command takes no images: leave out @logo.png",
      ),
    );
    expect(tasks.command).toBeUndefined();
    tasks.close();
  });

  it("is sent to the fork that the message before it begins", async () => {
    const before = open({});
    await before.say([textPart("text One.")], DELIVERY.queue);
    before.close();
    const { id } = before.conversation.view.snapshot().task;
    const printout = new Printout({
      style: () => ({ paint: (_look, text) => text, columns: 200 }),
      onChange: () => undefined,
    });
    const tasks: ChatTasks = open({}, () => outbox.advance());
    const outbox: Outbox = new Outbox({
      tasks,
      composer: new Composer(() => []),
      printout,
      workspace,
      isHeld: () => false,
      onChange: () => outbox.advance(),
    });
    tasks.fork = { taskId: id, beforeMessageId: "" };
    outbox.add("text Two.");
    outbox.add("text Three.");
    outbox.advance();
    const said = (): readonly unknown[] =>
      tasks.conversation.view
        .snapshot()
        .task.history.map(({ parts: [first] }) => first?.content.value);
    await expect
      .poll(said, { timeout: 60_000 })
      .toEqual(["text Two.", "Two.", "text Three.", "Three."]);
    expect(printout.entries).toEqual([]);
    tasks.close();
  });

  it("is one of the agent of a conversation that is continued", async () => {
    const before = open({ agent: "greeter" });
    await before.say([textPart("Hello.")], DELIVERY.queue);
    before.close();
    const { id } = before.conversation.view.snapshot().task;
    const tasks = open({});
    tasks.open(id);
    await expect
      .poll(() => tasks.conversation.view.snapshot().task.contextId, {
        timeout: 60_000,
      })
      .not.toBe("");
    await tasks.listCommands(signal);
    const names = tasks.commands.map(({ name }) => name);
    expect(names).toEqual(["greet", "goal"]);
    tasks.close();
  });

  it("begins the conversation, when it is one that sets a goal", async () => {
    const tasks = open({});
    await tasks.run('/goal text Hello. --check "true"');
    const { view } = tasks.conversation;
    await expect
      .poll(() => view.snapshot().task.goal?.checks)
      .toEqual(["true"]);
    tasks.close();
  });

  function open(
    session: NewSessionOptions,
    onChange = (): void => undefined,
  ): ChatTasks {
    const interceptors = [bearerInterceptor(server.token)];
    const transport = createConnectTransport({
      baseUrl: server.url,
      httpVersion: "1.1",
      interceptors,
    });
    return new ChatTasks({
      client: createDevtoolClient(transport),
      session,
      operatorMode: ApprovalMode.YOLO,
      onChange,
      onProblem: () => undefined,
    });
  }
});

/** An agent with one command. */
const greeter: Agent = {
  about: { name: "Greeter", description: "Greets." },
  open: () => ({
    commands: {
      list: () =>
        Promise.resolve([
          create(SlashCommandSchema, { name: "greet", description: "Greets." }),
        ]),
      check: () => Promise.resolve(undefined),
    },
    createExecutor: () => ({
      async *execute() {
        yield { case: "text", value: "Hello." };
      },
    }),
  }),
};
