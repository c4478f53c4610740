import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import {
  createDevtoolClient,
  type DevtoolClient,
  modifiedArgumentsPart,
  observeTask,
  textMessage,
} from "@devtool/client";
import { createGeminiCliTransport } from "@devtool/client/gemini-cli";
import {
  ApprovalMode,
  CommandExecutionStatus,
  type Message,
  MessageDelivery,
  MessageSchema,
  PartSchema,
  Role,
  SandboxPolicy,
  TaskState,
  type ToolCall,
} from "@devtool/schema";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startOurs } from "../gemini-cli/ours.ts";
import { HAS_PEER, type Served, startPeer } from "../gemini-cli/peer.ts";
import { call } from "../gemini-cli/scenarios.ts";
import { Conversation } from "../scenarios/conversation.ts";

interface Kind {
  readonly name: string;
  readonly isHere: boolean;
  start(): Promise<Served>;
  /** Whether the server runs a call with content of the user. */
  readonly takesContent: boolean;
  /** A command that answers without an approval. */
  readonly command: readonly string[];
}

const KINDS: readonly Kind[] = [
  {
    name: "our server",
    isHere: true,
    start: () => startOurs(),
    takesContent: true,
    command: ["memory", "show"],
  },
  {
    name: "Gemini CLI's server",
    isHere: HAS_PEER,
    start: startPeer,
    takesContent: false,
    command: ["memory", "show"],
  },
];

const ONCE = (): string => "proceed_once";

for (const { name, isHere, start, takesContent, command } of KINDS) {
  if (!isHere) {
    console.info(
      `skipped: ${name} is not installed: run npx -y pnpm@12 install:peers`,
    );
  }
  describe.skipIf(!isHere)(
    `a client over the coderAgent dialect, at ${name}`,
    () => {
      let served: Served;
      let client: DevtoolClient;

      beforeAll(async () => {
        served = await start();
        client = createDevtoolClient(createGeminiCliTransport(served));
      });

      afterAll(() => served[Symbol.asyncDispose]());

      const begin = (): Conversation =>
        new Conversation(client, {
          settings: { workspacePath: served.workspace },
        });
      const file = (path: string): string => join(served.workspace, path);

      /** Approves every call, in as many turns as needed. */
      async function played(prompt: string): Promise<Conversation> {
        const conversation = begin();
        await conversation.say(prompt);
        while (conversation.asked.length > 0) await conversation.answer(ONCE);
        return conversation;
      }

      it("streams thoughts and text, and continues the task after its end", async () => {
        const conversation = await played("think 1\ntext Hello.");
        const [thought] = conversation.events.flatMap(({ payload }) =>
          payload.case === "thought" ? [payload.value] : [],
        );
        expect(thought).toMatchObject({
          subject: "Subject 1",
          description: "Description 1.",
        });
        await conversation.say("text Again.");
        expect(conversation.text).toBe("Hello.Again.");
        expect(conversation.task.state).toBe(TaskState.COMPLETED);
        expect(conversation.task.history.map(({ role }) => role)).toEqual([
          Role.USER,
          Role.AGENT,
          Role.USER,
          Role.AGENT,
        ]);
      });

      it("reads a file", async () => {
        const conversation = await played(
          call("read_file", { file_path: file("notes.txt") }),
        );
        expect(conversation.outcomes).toEqual(["read_file SUCCEEDED"]);
        expect(conversation.text).toBe("Finished.");
      });

      it("reports why a call failed", async () => {
        const { calls } = await played(
          call("read_file", { file_path: file("none.txt") }),
        );
        expect(calls).toMatchObject([
          {
            result: {
              case: "error",
              value: { message: expect.stringContaining("none.txt") },
            },
          },
        ]);
      });

      it("writes a file once it is approved, and reports the change", async () => {
        const conversation = begin();
        await conversation.say(
          call("write_file", { file_path: file("new.txt"), content: "one\n" }),
        );
        expect(existsSync(file("new.txt"))).toBe(false);
        const [asked] = conversation.asked;
        expect(asked?.confirmationRequest?.details).toMatchObject({
          case: "fileEditDetails",
          value: {
            fileName: "new.txt",
            newContent: "one\n",
            formattedDiff: expect.stringContaining("+one"),
          },
        });
        expect(conversation.task.state).toBe(TaskState.INPUT_REQUIRED);
        await conversation.answer(ONCE);
        expect(readFileSync(file("new.txt"), "utf8")).toBe("one\n");
        expect(conversation.calls).toMatchObject([
          {
            result: {
              case: "output",
              value: {
                result: { case: "diff", value: { newContent: "one\n" } },
              },
            },
          },
        ]);
      });

      it("writes content of the user, or reports that the server cannot", async () => {
        const conversation = begin();
        await conversation.say(
          call("write_file", {
            file_path: file("mine.txt"),
            content: "theirs\n",
          }),
        );
        const answered = conversation.answer(() => ({
          option: "proceed_once",
          newContent: "mine\n",
        }));
        if (takesContent) {
          await answered;
        } else {
          await expect(answered).rejects.toMatchObject({
            code: Code.Unimplemented,
          });
        }
        const written = takesContent
          ? readFileSync(file("mine.txt"), "utf8")
          : undefined;
        expect(written).toBe(takesContent ? "mine\n" : undefined);
        // The approval stays open, and can be answered differently.
        if (!takesContent) await conversation.answer(() => "cancel");
        expect(conversation.asked).toEqual([]);
      });

      it("says before it sends changed arguments that the dialect has no place for them", async () => {
        const conversation = begin();
        await conversation.say(
          call("write_file", {
            file_path: file("args.txt"),
            content: "theirs\n",
          }),
        );
        const args = { file_path: file("args.txt"), content: "mine\n" };
        const parts = conversation.asked.map((asked) =>
          modifiedArgumentsPart(asked, args),
        );
        const message = create(MessageSchema, {
          messageId: crypto.randomUUID(),
          role: Role.USER,
          parts,
        });
        await expect(conversation.send(message)).rejects.toMatchObject({
          code: Code.Unimplemented,
        });
        expect(existsSync(file("args.txt"))).toBe(false);
        await conversation.answer(() => "cancel");
      });

      it("shows the output of a command while it runs", async () => {
        const { events, calls } = await played(
          call("run_shell_command", {
            command: "for i in 1 2 3; do echo line $i; sleep 0.2; done",
          }),
        );
        const shown = events.flatMap(({ payload }) =>
          payload.case === "toolCall" ? (payload.value.liveContent ?? []) : [],
        );
        expect(shown.at(0)).toMatch(/^line 1/);
        // The number of snapshots, and whether one has the last line, depends
        // on the machine.
        expect(
          shown.filter(
            (text) => !"line 1\nline 2\nline 3".startsWith(text.trimEnd()),
          ),
        ).toEqual([]);
        expect(calls.map(outputOf)).toEqual(["line 1\nline 2\nline 3"]);
      });

      it("declines a call, and nothing runs", async () => {
        const conversation = begin();
        await conversation.say(
          call("run_shell_command", { command: `touch ${file("never")}` }),
        );
        await conversation.answer(() => "cancel");
        expect(conversation.outcomes).toEqual(["run_shell_command CANCELLED"]);
        expect(existsSync(file("never"))).toBe(false);
      });

      it("cancels a waiting task, and its calls with it", async () => {
        const conversation = begin();
        await conversation.say(
          call("run_shell_command", { command: `touch ${file("never")}` }),
        );
        const { task } = await client.tasks.cancelTask({
          taskId: conversation.task.id,
        });
        expect(task?.state).toBe(TaskState.CANCELED);
        expect(
          task?.history
            .flatMap(({ parts }) => parts)
            .find(({ content }) => content.case === "toolCall")?.content.value,
        ).toMatchObject({ toolName: "run_shell_command" });
        const { task: later } = await client.tasks.getTask({
          taskId: conversation.task.id,
        });
        expect(later?.state).toBe(TaskState.CANCELED);
        expect(existsSync(file("never"))).toBe(false);
      });

      it("gets an error for an answer to another call, and the approval stays open", async () => {
        const conversation = begin();
        await conversation.say(
          call("run_shell_command", { command: "echo asked" }),
        );
        await expect(
          conversation.send(answer("nobody", "proceed_once")),
        ).rejects.toMatchObject({
          code: Code.InvalidArgument,
        });
        const [asked] = conversation.asked;
        const odd = answer(asked?.toolCallId ?? "", "perhaps");
        await expect(conversation.send(odd)).rejects.toMatchObject({
          code: Code.InvalidArgument,
        });
        await expect(
          conversation.say("text Never mind."),
        ).rejects.toMatchObject({ code: Code.FailedPrecondition });
        await conversation.answer(ONCE);
        expect(conversation.outcomes).toEqual(["run_shell_command SUCCEEDED"]);
      });

      it.each([
        ["agent", { sessionSettings: { agent: "other" } }],
        ["push_config", { pushConfig: { url: "http://127.0.0.1:9/" } }],
        [
          "turn",
          {
            messageSettings: {
              turn: { sandboxPolicy: SandboxPolicy.READ_ONLY },
            },
          },
        ],
        ["delivery", { messageSettings: { delivery: MessageDelivery.STEER } }],
      ])(
        "is told that the dialect cannot say %s, and nothing is sent",
        async (field, wanted) => {
          const contextId = crypto.randomUUID();
          const message = textMessage(crypto.randomUUID(), "text Hello.");
          await expect(
            client.tasks.sendMessage({ message, contextId, ...wanted }),
          ).rejects.toMatchObject({
            code: Code.Unimplemented,
            rawMessage: expect.stringContaining(
              `${field} is not available over the coderAgent dialect`,
            ),
          });
          expect(
            (await client.tasks.listTasks({})).tasks.map(
              (task) => task.contextId,
            ),
          ).not.toContain(contextId);
        },
      );

      it("returns a task to a client without a stream", async () => {
        const message = textMessage(crypto.randomUUID(), "text Hello.");
        const { task } = await client.tasks.sendMessage({
          message,
          settings: { workspacePath: served.workspace },
        });
        expect(task).toMatchObject({
          state: TaskState.COMPLETED,
          history: [{ role: Role.USER }, { role: Role.AGENT }],
        });
      });

      it("reads the events of a task again, any number of times", async () => {
        const conversation = await played("text Hello.");
        const states: TaskState[] = [];
        for await (const { state } of observeTask(
          client,
          conversation.task.id,
          AbortSignal.timeout(60_000),
        )) {
          states.push(state);
        }
        expect(states).toHaveLength(conversation.events.length);
        expect(states.at(-1)).toBe(TaskState.COMPLETED);
      });

      it("lists tasks", async () => {
        const { task } = await played("text Hello.");
        const { tasks } = await client.tasks.listTasks({});
        expect(tasks.map(({ id }) => id)).toContain(task.id);
      });

      it("is told that the dialect cannot list the commands of another agent", async () => {
        const listed = client.commands.getAllSlashCommands({
          sessionSettings: { agent: "other" },
        });
        await expect(listed).rejects.toMatchObject({
          code: Code.Unimplemented,
          rawMessage: expect.stringContaining(
            "agent is not available over the coderAgent dialect",
          ),
        });
      });

      it("lists commands, and runs one", async () => {
        const { commands } = await client.commands.getAllSlashCommands({});
        const memory = commands.find(({ name }) => name === "memory");
        expect(memory?.subCommands.map(({ name }) => name)).toContain("show");
        const { result } = await client.commands.runSlashCommand({
          command: { commandPath: [...command] },
        });
        expect(result?.status).toBe(CommandExecutionStatus.STARTED);
        const told: string[] = [];
        for await (const { event } of client.tasks.subscribeTask({
          taskId: result?.executionId ?? "",
        })) {
          if (event?.payload.case === "text") {
            told.push(event.payload.value.text);
          }
        }
        expect(told.join("")).toMatch(/\w/);
      });

      it("gets an error for an unknown command", async () => {
        const { result } = await client.commands.runSlashCommand({
          command: { commandPath: ["nothing"] },
        });
        expect(result).toMatchObject({
          status: CommandExecutionStatus.FAILED_TO_START,
          message: expect.stringMatching(/\w/),
        });
      });

      it("describes in an error what the dialect has no form for", async () => {
        const message = textMessage(crypto.randomUUID(), "text Hello.");
        const settings = { workspacePath: served.workspace };
        const refused = [
          () =>
            client.tasks.sendMessage({
              message: { ...message, model: "another" },
              settings,
            }),
          () =>
            client.tasks.sendMessage({
              message,
              settings,
              returnImmediately: true,
            }),
          () =>
            client.tasks.sendMessage({
              message,
              settings,
              sessionSettings: { allowedTools: ["read_file"] },
            }),
          () =>
            client.tasks.sendMessage({
              message,
              settings,
              sessionSettings: { approvalMode: ApprovalMode.PLAN },
            }),
          () =>
            client.push.setPushConfig({
              config: { taskId: "t", url: "https://example.com" },
            }),
          () => client.audit.readAudit({})[Symbol.asyncIterator]().next(),
        ];
        for (const attempt of refused) {
          await expect(attempt()).rejects.toMatchObject({
            code: Code.Unimplemented,
          });
        }
      });

      it("gets NotFound for an unknown task", async () => {
        await expect(
          client.tasks.getTask({ taskId: "none" }),
        ).rejects.toMatchObject({ code: Code.NotFound });
        await expect(
          client.tasks.cancelTask({ taskId: "none" }),
        ).rejects.toMatchObject({ code: Code.NotFound });
      });
    },
  );
}

describe("a client over the coderAgent dialect", () => {
  it("rejects a server that refuses its token", async () => {
    await using ours = await startOurs();
    const client = createDevtoolClient(
      createGeminiCliTransport({ ...ours, token: "wrong" }),
    );
    await expect(client.tasks.getTask({ taskId: "any" })).rejects.toMatchObject(
      { code: Code.Unauthenticated },
    );
    await expect(client.commands.getAllSlashCommands({})).rejects.toMatchObject(
      { code: Code.Unauthenticated },
    );
  });

  it("does not retry a message after a lost connection: the server would begin twice", async () => {
    let sent = 0;
    const fetch = (): Promise<Response> => {
      sent += 1;
      return Promise.reject(new TypeError("fetch failed"));
    };
    const client = createDevtoolClient(
      createGeminiCliTransport({ url: "http://127.0.0.1:9/", fetch }),
    );
    const conversation = new Conversation(client);
    await expect(conversation.say("text Hello.")).rejects.toMatchObject({
      code: Code.FailedPrecondition,
    });
    expect(sent).toBe(1);
  });

  it("answers the approval of a command", async () => {
    await using ours = await startOurs();
    const client = createDevtoolClient(createGeminiCliTransport(ours));
    const command = { commandPath: ["shell"], args: "echo from a command" };
    const { result } = await client.commands.runSlashCommand({ command });
    expect(result?.status).toBe(
      CommandExecutionStatus.AWAITING_SHELL_CONFIRMATION,
    );
    const { task } = await client.tasks.getTask({
      taskId: result?.executionId ?? "",
    });
    const conversation = new Conversation(client, {}, task);
    await conversation.answer(ONCE);
    expect(conversation.calls.map(outputOf)).toEqual(["from a command"]);
  });
});

function outputOf({ result }: ToolCall): string {
  const output = result.case === "output" ? result.value.result : undefined;
  return output?.case === "text" ? output.value.trimEnd() : "";
}

function answer(toolCallId: string, selectedOptionId: string): Message {
  const part = create(PartSchema, {
    content: { case: "confirmation", value: { toolCallId, selectedOptionId } },
  });
  return create(MessageSchema, {
    messageId: crypto.randomUUID(),
    role: Role.USER,
    parts: [part],
  });
}
