import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { confirmationPart, textMessage } from "@devtool/client";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import {
  ConfirmationRequestSchema,
  OPTION_CANCEL,
  OPTION_PROCEED_ONCE,
  type SendMessageRequestSchema,
  type Task,
  TaskState,
  type ToolCall,
  ToolCallSchema,
  ToolCallStatus,
  toolCallsOf,
} from "@devtool/schema";
import {
  type AgentEvent,
  Code,
  createServer,
  DevtoolError,
  type DevtoolServer,
  type Turn,
} from "@devtool/server";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { clientOf } from "../client-of.ts";
import { agentText } from "../tasks.ts";

type Execute = (turn: Turn, signal: AbortSignal) => AsyncIterable<AgentEvent>;

describe("a turn of an agent that makes its own calls", () => {
  let dataDirectory: string;
  let server: DevtoolServer;
  const errors: unknown[] = [];
  beforeEach(() => {
    errors.length = 0;
    dataDirectory = temporaryDirectory();
  });
  afterEach(() => server.close());

  it.each([
    [
      OPTION_PROCEED_ONCE,
      "one is published. two is published.",
      ["one", "two"],
    ],
    [OPTION_CANCEL, "one is published. two is not published.", ["one"]],
  ])(
    "goes on after a restart while it asked, asks nothing twice and runs nothing twice: %s",
    async (option, said, ran) => {
      const runs: string[] = [];
      await start(publishing(runs));
      const first = await send("one two");
      const second = await answer(first, OPTION_PROCEED_ONCE);
      expect([second.state, runs]).toEqual([TaskState.INPUT_REQUIRED, ["one"]]);
      await restart(publishing(runs));
      const ended = await answer(second, option);
      expect([ended.state, runs, callsIn(ended).length]).toEqual([
        TaskState.COMPLETED,
        ran,
        2,
      ]);
      expect(agentText(ended)).toBe(`Publishing one two. ${said}`);
    },
  );

  it("says what is new in each of its turns: the message, the answers, the restart", async () => {
    const news: unknown[] = [];
    const noting: Execute = async function* (turn, signal) {
      const { message, answers, restarted } = turn.news;
      news.push([
        message?.messageId,
        answers.map(({ selectedOptionId }) => selectedOptionId),
        restarted,
      ]);
      expect(turn.prompt?.messageId).toBe("m1");
      yield* turn.call(
        { toolName: "act", ask: "Act?", run: () => "done" },
        signal,
      );
    };
    await start(noting);
    const asking = await send("go", "m1");
    await restart(noting);
    await answer(asking, OPTION_CANCEL);
    expect(news).toEqual([
      ["m1", [], false],
      [undefined, [OPTION_CANCEL], true],
    ]);
  });

  it("treats another message as new work: the same call is made again", async () => {
    const runs: string[] = [];
    await start(publishing(runs));
    const once = await answer(await send("one"), OPTION_PROCEED_ONCE);
    const again = await send("one", "m2", once);
    expect([again.state, callsIn(again).length]).toEqual([
      TaskState.INPUT_REQUIRED,
      2,
    ]);
    await answer(again, OPTION_PROCEED_ONCE);
    expect(runs).toEqual(["one", "one"]);
  });

  it("returns a failed call as an outcome, and fails on an unexpected error", async () => {
    const outcomes: unknown[] = [];
    await start(async function* (turn, signal) {
      const failing = (reason: Error) => ({
        toolName: "act",
        run: () => Promise.reject(reason),
      });
      const full = new DevtoolError(
        "the shelf is full: make room",
        Code.ResourceExhausted,
      );
      outcomes.push(yield* turn.call(failing(full), signal));
      yield* turn.call(failing(new Error("a bug")), signal);
    });
    const task = await send("go");
    expect(outcomes).toEqual([
      { case: "failed", message: "the shelf is full: make room" },
    ]);
    expect([task.state, errors]).toEqual([
      TaskState.FAILED,
      [new Error("a bug")],
    ]);
    expect(callsIn(task).map(({ status }) => status)).toEqual([
      ToolCallStatus.FAILED,
      ToolCallStatus.CANCELLED,
    ]);
  });

  it("may decline a call that its user has declined", async () => {
    await start(async function* (turn, signal) {
      const call = create(ToolCallSchema, {
        toolCallId: "k",
        toolName: "act",
        status: ToolCallStatus.PENDING,
      });
      const options = [OPTION_PROCEED_ONCE, OPTION_CANCEL].map((id) => ({
        id,
        name: id,
      }));
      turn.confirmations.open("k");
      const confirmationRequest = create(ConfirmationRequestSchema, {
        options,
      });
      yield {
        case: "toolCalls",
        value: [{ call: { ...call, confirmationRequest } }],
      };
      await turn.confirmations.wait("k", signal);
      yield {
        case: "toolCalls",
        value: [{ call: { ...call, status: ToolCallStatus.CANCELLED } }],
      };
      yield { case: "text", value: "Not done." };
    });
    const ended = await answer(await send("go"), OPTION_CANCEL);
    expect([ended.state, ended.error, agentText(ended)]).toEqual([
      TaskState.COMPLETED,
      "",
      "Not done.",
    ]);
  });

  async function start(execute: Execute): Promise<void> {
    const own = {
      about: { name: "own", description: "Ours." },
      open: () => ({ createExecutor: () => ({ execute }) }),
    };
    const onError = (reason: unknown): number => errors.push(reason);
    server = await createServer({
      agents: { own },
      workspace: process.cwd(),
      dataDirectory,
      onError,
    });
  }

  async function restart(execute: Execute): Promise<void> {
    await server.close();
    await start(execute);
  }

  function send(
    text: string,
    messageId = "m1",
    { id: taskId, contextId }: Partial<Task> = {},
  ): Promise<Task> {
    return exchange({
      message: textMessage(messageId, text),
      ...(taskId !== undefined &&
        contextId !== undefined && { taskId, contextId }),
    });
  }

  async function answer(task: Task, selectedOptionId: string): Promise<Task> {
    const [asking] = callsIn(task).filter(
      ({ confirmationRequest }) => confirmationRequest,
    );
    if (!asking) throw new Error("nothing is asked");
    const parts = [confirmationPart(asking, selectedOptionId)];
    return exchange({
      message: { ...textMessage(crypto.randomUUID(), ""), parts },
      taskId: task.id,
    });
  }

  async function exchange(
    request: MessageInitShape<typeof SendMessageRequestSchema>,
  ): Promise<Task> {
    const { tasks } = clientOf(server);
    const { task: answered } = await tasks.sendMessage(request);
    const { task } = await tasks.getTask({ taskId: answered?.id ?? "" });
    if (!task) throw new Error("there is no task");
    return task;
  }
});

/** An agent that publishes each word of its prompt, after asking. */
function publishing(runs: string[]): Execute {
  return async function* (turn, signal) {
    const content = turn.prompt?.parts[0]?.content;
    const text = content?.case === "text" ? content.value : "";
    yield* turn.say(`Publishing ${text}.`);
    for (const word of text.split(" ")) {
      const run = (): string => `number ${runs.push(word)}`;
      const asked = {
        toolName: "publish",
        args: { word },
        ask: `Publish ${word}?`,
        run,
      };
      const outcome = yield* turn.call(asked, signal);
      yield* turn.say(
        ` ${word} is ${outcome.case === "succeeded" ? "" : "not "}published.`,
      );
    }
  };
}

function callsIn({ history }: Task): ToolCall[] {
  return history.flatMap(toolCallsOf);
}
