import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import type { DevtoolClient } from "@devtool/client";
import { serveCodingAgent } from "@devtool/coding-agent";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import {
  ApprovalMode,
  type ListedAgent,
  ListedAgentSchema,
} from "@devtool/schema";
import { type Agent, createServer, type DevtoolServer } from "@devtool/server";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { ManualTimers } from "../../test/manual-timers.ts";
import { createClient } from "../connection/connection.ts";
import { Chat } from "./chat.ts";
import { ChatTasks, DELIVERY, textPart } from "./chat-tasks.ts";
import { nextMode, runLocal } from "./local-actions.ts";
import { readLocalCommand } from "./local-command.ts";

describe("the commands of the terminal", () => {
  let workspace: string;
  let server: DevtoolServer;
  let client: DevtoolClient;

  beforeAll(async () => {
    workspace = temporaryDirectory();
    server = await serveCodingAgent({ workspace, sandbox: "none" });
    client = await createClient(server, "connect");
  });
  afterAll(() => server.close());

  it("show and change the model of the next messages", async () => {
    await using played = play();
    await played.run("/model", "/model tiny", "/model");
    const none =
      "· the agent lists no models: choose one by its name, as /model NAME";
    expect(played.told()).toEqual([
      "· model: the server's",
      none,
      "· model: tiny",
      "· model: tiny",
      none,
    ]);
    expect(played.chat.tasks.choices.model).toBe("tiny");
  });

  it("change the mode, within what the operator allows", async () => {
    await using played = play(ApprovalMode.AUTO_EDIT);
    await played.run("/mode plan", "/mode auto_edit");
    expect(played.told()).toEqual(["· mode: plan", "· mode: auto-edit"]);
    await expect(played.run("/mode yolo")).rejects.toThrow(
      'approval mode "yolo" allows more than "auto-edit"',
    );
    await expect(played.run("/mode fast")).rejects.toThrow(
      'approval mode "fast" does not exist: choose default, plan',
    );
    expect(played.chat.tasks.choices.modeNow).toBe(ApprovalMode.AUTO_EDIT);
  });

  it("go back to a message by its number", async () => {
    await using played = play();
    await played.say("text hello");
    await expect(played.run("/rewind 2")).rejects.toThrow(
      "/rewind 2: the conversation has 1 message of yours",
    );
    const { id } = played.chat.tasks.conversation.view.snapshot().task;
    await played.run("/rewind 1");
    expect(played.chat.tasks.fork?.taskId).toBe(id);
    expect(played.chat.composer.text).toBe("text hello");
    expect(played.chat.picker).toBeUndefined();
  });

  it("show and change the mode within what the conversation began with", async () => {
    // The server's mode was default when the conversation began.
    await using played = play(ApprovalMode.YOLO);
    const { choices } = played.chat.tasks;
    await played.run("/mode yolo");
    await played.say("text hello");
    await played.run("/mode");
    expect(played.told().at(-1)).toBe("· mode: default");
    await expect(played.run("/mode auto-edit")).rejects.toThrow(
      'approval mode "auto-edit" allows more than "default", with which this conversation began: a new one may go further',
    );
    nextMode(played.chat);
    expect(choices.modeNow).toBe(ApprovalMode.PLAN);
    nextMode(played.chat);
    expect(choices.modeNow).toBe(ApprovalMode.DEFAULT);
    await played.run("/new", "/mode yolo");
    expect(played.told().at(-1)).toBe("· mode: yolo");
  });

  it.each([
    [
      ApprovalMode.UNSPECIFIED,
      [ApprovalMode.PLAN, ApprovalMode.DEFAULT, ApprovalMode.PLAN],
    ],
    [
      ApprovalMode.AUTO_EDIT,
      [ApprovalMode.DEFAULT, ApprovalMode.PLAN, ApprovalMode.AUTO_EDIT],
    ],
    [
      ApprovalMode.PLAN,
      [ApprovalMode.PLAN, ApprovalMode.PLAN, ApprovalMode.PLAN],
    ],
  ])(
    "go round the modes that operator mode %s allows",
    async (operator, modes) => {
      await using played = play(operator);
      const chosen = modes.map(() => {
        nextMode(played.chat);
        return played.chat.tasks.choices.modeNow;
      });
      expect(chosen).toEqual(modes);
    },
  );

  it("N1: offer only the settings that the agent follows, and say why the others are not there", async () => {
    await using own = await createServer({ agents: { echo }, workspace });
    const { agents } = await (
      await createClient(own, "connect")
    ).agents.listAgents({});
    await using played = play(ApprovalMode.YOLO, agents);
    const noMode =
      '· agent "Echo" does not let its users choose the approval mode';
    const noModel = '· agent "Echo" does not let its users choose the model';
    nextMode(played.chat);
    await played.run("/mode", "/mode plan", "/model", "/model tiny");
    expect(played.told()).toEqual([noMode, noMode, noMode, noModel, noModel]);
    await played.run("/help");
    const told = played.told().join("\n");
    expect(told).toMatch(/^ {2}Shift-Tab +agent "Echo" does not let .* mode$/m);
    expect(told).toMatch(
      /^ {2}\/mode \[name\] +agent "Echo" does not .* mode$/m,
    );
    expect(told).toMatch(
      /^ {2}\/model \[name\] +agent "Echo" does not .*model$/m,
    );
    expect(played.chat.tasks.choices.changes()).toEqual({});
  });

  it("N1: offer all settings of an agent whose server does not say which it follows", async () => {
    const agents = [create(ListedAgentSchema, { displayName: "Old" })];
    await using played = play(ApprovalMode.YOLO, agents);
    await played.run("/mode plan", "/model tiny");
    expect(played.told()).toEqual(["· mode: plan", "· model: tiny"]);
  });

  it("N1: ask nothing of an agent that refuses what was chosen for another one", async () => {
    const agents = [
      create(ListedAgentSchema, {
        name: "open",
        follows: { settings: ["approval_mode", "model"] },
      }),
      create(ListedAgentSchema, { name: "closed", follows: {} }),
    ];
    await using played = play(ApprovalMode.YOLO, agents);
    await played.run("/mode plan", "/model tiny");
    const { choices } = played.chat.tasks;
    expect(choices.forNewSession().sessionSettings).toMatchObject({
      approvalMode: ApprovalMode.PLAN,
      model: "tiny",
    });
    await using closed = play(ApprovalMode.YOLO, agents, "closed");
    closed.chat.tasks.choices.chooseMode(ApprovalMode.PLAN);
    closed.chat.tasks.choices.model = "tiny";
    expect(
      closed.chat.tasks.choices.forNewSession().sessionSettings,
    ).toMatchObject({ approvalMode: ApprovalMode.UNSPECIFIED, model: "" });
  });

  it("copy the last answer, and say so when there is none", async () => {
    await using played = play();
    await played.run("/copy");
    await played.say("text # The *answer*");
    await played.run("/copy");
    expect(played.told().filter((line) => !line.startsWith(">"))).toContain(
      "· copied 14 characters, if the terminal allows it (OSC 52)",
    );
    expect(played.told()[0]).toBe("· there is no answer to copy yet");
    expect(played.written).toEqual([
      `\u001b]52;c;${Buffer.from("# The *answer*").toString("base64")}\u0007`,
    ]);
  });

  it("export a conversation to a new file for its owner, and replace none", async () => {
    await using played = play();
    const path = join(workspace, "out.md");
    await played.run(`/export ${path}`);
    expect(played.told()).toEqual(["· there is nothing to export yet"]);
    await played.say("text The answer.");
    await played.run(`/export ${path}`);
    expect(await readFile(path, "utf8")).toBe(
      "# text The answer.\n\n## You\n\ntext The answer.\n\n## Agent\n\nThe answer.\n",
    );
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    await expect(played.run(`/export ${path}`)).rejects.toThrow(
      `"${path}" exists: name another file, as /export FILE`,
    );
  });

  it("begin anew, and go back to a conversation by the beginning of its id", async () => {
    await using played = play();
    await played.say("text The first.");
    const { id } = played.chat.tasks.conversation.view.snapshot().task;
    await played.run("/clear");
    expect(played.written).toEqual(["clear"]);
    expect(played.chat.tasks.conversation.view.snapshot().items).toEqual([]);
    await played.run(`/resume ${id.slice(0, 8)}`);
    await vi.waitFor(
      () =>
        expect(
          played.chat.tasks.conversation.view.snapshot().items,
        ).toHaveLength(2),
      60_000,
    );
    await played.run("/resume zzzz");
    await vi.waitFor(
      () =>
        expect(played.problems.join()).toContain('task "zzzz" does not exist'),
      60_000,
    );
  });

  it("leave the chat", async () => {
    await using played = play();
    await played.run("/quit");
    expect(played.chat.left).toBe("between turns");
  });

  it("U11, U12: list keys, their own commands and the server's in one list, and begin no session", async () => {
    await using played = play();
    await played.chat.tasks.listCommands(AbortSignal.timeout(60_000));
    const before = await client.tasks.listTasks({});
    await played.run("/help");
    const told = played.told().join("\n");
    expect(told).toMatch(/Ctrl-T[\s\S]*\/export \[file\][\s\S]*\/memory/);
    expect(told.match(/^ {2}\/help /gm)).toHaveLength(1);
    const after = await client.tasks.listTasks({});
    expect(after.tasks).toHaveLength(before.tasks.length);
  });

  /** Plays a chat without a terminal. */
  function play(
    operatorMode?: ApprovalMode,
    agents: readonly ListedAgent[] = [],
    agent?: string,
  ) {
    const written: string[] = [];
    const nothing = (): void => undefined;
    const unused = (): never => {
      throw new Error("this chat has no terminal");
    };
    const session = { workspace, agent };
    const problems: string[] = [];
    const onProblem = (reason: unknown): void =>
      void problems.push(String(reason));
    const tasks = new ChatTasks({
      client,
      session,
      operatorMode,
      agents,
      onChange: nothing,
      onProblem,
    });
    const chat = new Chat({
      tasks,
      history: { messages: [], add: () => Promise.resolve() },
      timers: new ManualTimers(),
      workspace,
      approve: undefined,
      edit: unused,
      editArguments: unused,
      style: () => ({ paint: (_look, text) => text, columns: 100 }),
      isServerGone: () => false,
      complete: () => Promise.resolve([]),
      runLocal: unused,
      nextMode: unused,
      onChange: nothing,
    });
    const actions = {
      client,
      workspace,
      write: (sequence: string) => void written.push(sequence),
      clearScreen: () => void written.push("clear"),
      onChange: nothing,
    };
    const run = async (...lines: readonly string[]): Promise<void> => {
      for (const line of lines) {
        const command = readLocalCommand(line);
        if (!command) {
          throw new Error(`"${line}" is not a command of the terminal`);
        }
        await runLocal(chat, command, actions);
      }
    };
    return {
      chat,
      written,
      problems,
      run,
      say: (text: string) => tasks.say([textPart(text)], DELIVERY.queue),
      told: () => chat.printout.entries.flatMap(({ lines }) => lines),
      [Symbol.asyncDispose]: async () => tasks.close(),
    };
  }
});

/** An agent that follows no settings. */
const echo: Agent = {
  about: { name: "Echo", description: "Repeats each message." },
  open: () => ({
    createExecutor: () => ({
      async *execute() {
        yield { case: "text", value: "Hello." };
      },
    }),
  }),
};
