import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { type DevtoolClient, textMessage } from "@devtool/client";
import {
  type Model,
  type ModelEvent,
  type ModelRequest,
  serveCodingAgent,
} from "@devtool/coding-agent";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import {
  ApprovalMode,
  AuditAction,
  ConversationForkSchema,
  type Message,
  MessageSettingsSchema,
  type SendMessageRequestSchema,
  type Task,
  type TaskEvent,
  TaskState,
} from "@devtool/schema";
import type { DevtoolServer } from "@devtool/server";
import { describe, expect, it } from "vitest";
import { createIssuer } from "../auth/issuer.ts";
import { CLIENTS, clientOf } from "../client-of.ts";
import { startServerProcess } from "./crash/server-process.ts";

type Fork = MessageInitShape<typeof ConversationForkSchema>;

describe("a fork of a conversation (STREAM-5)", () => {
  it.each([
    "Connect",
    "gRPC",
    "A2A 1.0 over JSON-RPC",
    "A2A 0.3 over HTTP+JSON",
  ] as const)(
    "begins a task that knows what was said before a message and no more, over %s",
    async (binding) => {
      await using world = await World.open();
      const own = CLIENTS[binding](world.server);
      const first = await world.talk("One", "Two", "Three");
      const before = await world.eventsOf(first.id);
      const { task } = await own.tasks.sendMessage({
        message: textMessage("f1", "Else"),
        messageSettings: {
          fork: { taskId: first.id, beforeMessageId: "m2" },
        },
      });
      expect(world.model.heard.at(-1)).toEqual(["One", "ok", "Else"]);
      expect(task?.state).toBe(TaskState.COMPLETED);
      expect(task?.contextId).not.toBe(first.contextId);
      expect(await world.eventsOf(first.id)).toEqual(before);
      // The next message of the fork, and a fork of the fork.
      const fork = await world.say("More", { taskId: task?.id ?? "" });
      expect(world.model.heard.at(-1)).toEqual([
        ...["One", "ok", "Else", "ok", "More"],
      ]);
      await world.fork("Again", fork, "More");
      expect(world.model.heard.at(-1)).toEqual([
        ...["One", "ok", "Else", "ok", "Again"],
      ]);
      await world.fork("First", fork, "Else");
      expect(world.model.heard.at(-1)).toEqual(["One", "ok", "First"]);
    },
  );

  it("goes on from before the first message, from the end, and from a task that works", async () => {
    await using world = await World.open();
    const first = await world.talk("One", "Two");
    await world.fork("New", first, "One");
    expect(world.model.heard.at(-1)).toEqual(["New"]);
    await world.fork("On", first);
    expect(world.model.heard.at(-1)).toEqual(["One", "ok", "Two", "ok", "On"]);
    world.model.waits = true;
    await world.client.tasks.sendMessage({
      message: textMessage("m3", "Three"),
      taskId: first.id,
      returnImmediately: true,
    });
    await expect.poll(() => world.model.heard.at(-1)?.at(-1)).toBe("Three");
    await expect(world.fork("No", first)).rejects.toMatchObject({
      code: Code.FailedPrecondition,
      rawMessage: expect.stringMatching(/has not ended.*"m1", "m2", "m3"$/),
    });
    world.model.waits = false;
    const working = await world.taskOf(first.id);
    await world.fork("Beside", working, "Three");
    expect(world.model.heard.at(-1)).toEqual([
      ...["One", "ok", "Two", "ok", "Beside"],
    ]);
  });

  it("is the same after a kill of the server", async () => {
    const directory = temporaryDirectory();
    const place = {
      data: join(directory, "data"),
      workspace: join(directory, "work"),
    };
    mkdirSync(place.workspace);
    const killed = await startServerProcess(place);
    const remote = clientOf(killed.info);
    const first = await remote.tasks.sendMessage({
      message: textMessage("m1", "text One."),
    });
    const taskId = first.task?.id ?? "";
    await remote.tasks.sendMessage({
      message: textMessage("m2", "text Two."),
      taskId,
    });
    const forked = await remote.tasks.sendMessage({
      message: textMessage("f1", "text Else."),
      messageSettings: { fork: { taskId, beforeMessageId: "m2" } },
    });
    await killed.kill();
    await using world = await World.open(directory);
    await world.say("On", { taskId: forked.task?.id ?? "" });
    expect(world.model.heard.at(-1)).toEqual([
      ...["text One.", "One.", "text Else.", "Else.", "On"],
    ]);
  });

  it("is refused where there is no such message or task, and stores nothing", async () => {
    await using world = await World.open();
    const first = await world.talk("One", "Two");
    const { result } = await world.client.commands.runSlashCommand({
      command: { commandPath: ["memory", "show"] },
    });
    const commandId = result?.executionId ?? "";
    await world.eventsOf(commandId);
    const tasks = await world.countTasks();
    const refused = async (
      fork: Fork,
      code: Code,
      words: RegExp,
      more: MessageInitShape<typeof SendMessageRequestSchema> = {},
    ): Promise<void> => {
      await expect(
        world.say("No", { messageSettings: settings(fork), ...more }),
      ).rejects.toMatchObject({
        code,
        rawMessage: expect.stringMatching(words),
      });
    };
    const taskId = first.id;
    const { InvalidArgument, NotFound, FailedPrecondition } = Code;
    await refused({ taskId: "none" }, NotFound, /task "none" does not exist/);
    await refused({}, InvalidArgument, /task_id.*missing/);
    await refused(
      { taskId, beforeMessageId: "m9" },
      InvalidArgument,
      /"m9" is not a message of the user.*choose "m1", "m2"$/,
    );
    await refused({ taskId, lastSequence: 3n }, InvalidArgument, /server sets/);
    await refused({ taskId }, InvalidArgument, /without task_id/, { taskId });
    await refused({ taskId }, InvalidArgument, /context_id/, {
      contextId: first.contextId,
    });
    await refused({ taskId: commandId }, FailedPrecondition, /slash command/);
    await expect(
      world.client.tasks.sendMessage({
        message: {
          ...textMessage("m8", "No"),
          fork: create(ConversationForkSchema, { taskId }),
        },
      }),
    ).rejects.toThrow(/message.fork.*message_settings.fork/);
    expect(await world.countTasks()).toBe(tasks);
  });

  it("is for nobody but the principal of the task", async () => {
    await using world = await World.open();
    const first = await world.talk("One");
    await expect(
      world.stranger.tasks.sendMessage({
        message: textMessage("s1", "Tell me"),
        messageSettings: { fork: { taskId: first.id } },
      }),
    ).rejects.toMatchObject({ code: Code.NotFound });
  });

  it("says that the other task was deleted, also while the fork is open, and is none of a deleted one", async () => {
    await using world = await World.open();
    const first = await world.talk("One", "Two");
    const fork = await world.fork("Else", first, "Two");
    await world.client.tasks.deleteTask({ taskId: first.id });
    await world.say("On", { taskId: fork.id });
    expect(world.model.heard.at(-1)).toEqual(["Else", "ok", "On"]);
    const notices = (await world.eventsOf(fork.id)).flatMap(({ payload }) =>
      payload.case === "notice" ? [payload.value.text] : [],
    );
    expect(notices).toEqual([
      `Task ${JSON.stringify(first.id)}, which this one continues, does not exist any more: the agent does not know what was said there.`,
    ]);
    await expect(world.fork("Again", first)).rejects.toMatchObject({
      code: Code.NotFound,
    });
  });

  it("has the rights of the conversation, which it narrows and does not widen, and the audit names both", async () => {
    await using world = await World.open();
    const first = await world.say("One", {
      sessionSettings: {
        allowedTools: ["read_file"],
        approvalMode: ApprovalMode.PLAN,
      },
    });
    const fork = await world.fork("Else", first);
    expect(fork).toMatchObject({
      settings: first.settings,
      sessionSettings: first.sessionSettings,
      approvalLimit: first.approvalLimit,
      agentSessionId: "",
      extensionActive: false,
    });
    await expect(
      world.fork("Wider", first, undefined, {
        sessionSettings: { allowedTools: ["read_file", "write_file"] },
      }),
    ).rejects.toThrow(/differ from those of this session/);
    const stream = world.client.audit.readAudit({ taskId: fork.id });
    const records = await Array.fromAsync(stream);
    expect(records.map(({ record }) => record)).toMatchObject([
      {
        action: AuditAction.FORKED,
        sequence: 1n,
        principal: "local",
        shown: `{"lastSequence":"${first.sequence}","taskId":"${first.id}"}`,
      },
    ]);
  });

  it("is one task, however often its message is sent", async () => {
    await using world = await World.open();
    const first = await world.talk("One", "Two");
    const request = {
      message: textMessage("f1", "Else"),
      messageSettings: { fork: { taskId: first.id, beforeMessageId: "m2" } },
    };
    const sent = await world.client.tasks.sendMessage(request);
    const again = await world.client.tasks.sendMessage(request);
    expect(again.task?.id).toBe(sent.task?.id);
    expect(again.replay?.messageId).toBe("f1");
    const other = { fork: { taskId: first.id, beforeMessageId: "m1" } };
    await expect(
      world.client.tasks.sendMessage({ ...request, messageSettings: other }),
    ).rejects.toMatchObject({ code: Code.AlreadyExists });
  });
});

/** A model that answers with a word, and keeps what it was told. */
class RecordingModel implements Model {
  readonly name = "recording";
  /** The texts of the conversation at each step. */
  readonly heard: string[][] = [];
  /** Whether steps wait until they are cut. */
  waits = false;

  async *generate(
    { history }: ModelRequest,
    signal: AbortSignal,
  ): AsyncIterable<ModelEvent> {
    this.heard.push(history.map(textOf));
    if (this.waits) {
      const { promise, reject } = Promise.withResolvers<never>();
      signal.addEventListener("abort", () => reject(signal.reason));
      await promise;
    }
    yield { case: "text", value: "ok" };
  }
}

/** A server with the coding agent, and two callers. */
class World implements AsyncDisposable {
  readonly model: RecordingModel;
  readonly server: DevtoolServer;
  readonly client: DevtoolClient;
  readonly stranger: DevtoolClient;
  #count = 0;

  private constructor(
    model: RecordingModel,
    server: DevtoolServer,
    token: string,
  ) {
    this.model = model;
    this.server = server;
    this.client = clientOf(server);
    this.stranger = clientOf({ url: server.url, token });
  }

  /** @param directory with the directories `work` and `data`. Default: new */
  static async open(directory?: string): Promise<World> {
    const root = directory ?? temporaryDirectory();
    if (directory === undefined) mkdirSync(join(root, "work"));
    const issuer = await createIssuer();
    const model = new RecordingModel();
    const server = await serveCodingAgent({
      workspace: join(root, "work"),
      dataDirectory: join(root, "data"),
      sandbox: "none",
      authentication: { jwt: issuer.options },
      model,
    });
    return new World(model, server, await issuer.tokenFor("bob"));
  }

  /** Begins a task with messages, whose ids are `m1` and so on. */
  async talk(...texts: readonly string[]): Promise<Task> {
    let taskId = "";
    for (const [index, text] of texts.entries()) {
      const message = textMessage(`m${index + 1}`, text);
      taskId = (await this.say(text, { message, taskId })).id;
    }
    return this.taskOf(taskId);
  }

  /** Sends a message, and returns the whole task after its turn. */
  async say(
    text: string,
    more: MessageInitShape<typeof SendMessageRequestSchema> = {},
  ): Promise<Task> {
    const message = textMessage(`s${++this.#count}`, text);
    const sent = await this.client.tasks.sendMessage({ message, ...more });
    return this.taskOf(sent.task?.id ?? "");
  }

  /** Forks a task before a message, by its text, or at its end. */
  fork(
    text: string,
    { id: taskId, history }: Task,
    before?: string,
    more: MessageInitShape<typeof SendMessageRequestSchema> = {},
  ): Promise<Task> {
    const found = history.find((message) => textOf(message) === before);
    const fork = { taskId, beforeMessageId: found?.messageId ?? "" };
    return this.say(text, { messageSettings: settings(fork), ...more });
  }

  /** The events of a task that has ended. */
  async eventsOf(taskId: string): Promise<readonly TaskEvent[]> {
    const stream = this.client.tasks.subscribeTask({ taskId });
    const events = await Array.fromAsync(stream);
    return events.flatMap(({ event }) => event ?? []);
  }

  async countTasks(): Promise<number> {
    return (await this.client.tasks.listTasks({})).tasks.length;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server.close();
  }

  /** Returns a task as it is now. */
  async taskOf(taskId: string): Promise<Task> {
    const { task } = await this.client.tasks.getTask({ taskId });
    return task ?? expect.fail("the server has the task");
  }
}

function settings(fork: Fork) {
  return create(MessageSettingsSchema, { fork });
}

function textOf({ parts }: Pick<Message, "parts">): string {
  return parts
    .flatMap(({ content }) => (content.case === "text" ? content.value : []))
    .join("");
}
