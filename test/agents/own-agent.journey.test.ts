import { create } from "@bufbuild/protobuf";
import {
  createDevtoolClient,
  streamMessage,
  textMessage,
} from "@devtool/client";
import { createA2aTransport } from "@devtool/client/a2a";
import {
  emptyTask,
  reduceTask,
  type Task,
  TaskState,
  ToolCallSchema,
  ToolCallStatus,
  toolCallsOf,
} from "@devtool/schema";
import {
  type AgentEvent,
  type AgentExecutor,
  createServer,
  type DevtoolServer,
} from "@devtool/server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bindingsOf, type Json } from "../conformance/tck/bindings.ts";
import { firstText } from "../tasks.ts";

/**
 * An agent that answers with a message alone, or says that it would and does
 * not, or leaves a call open at its end.
 */
function createExecutor(task: Task): AgentExecutor {
  return {
    answersWith: ({ history: [first] }) =>
      first && firstText(first).startsWith("promise") ? "message" : "task",
    modelFor: () => "",
    execute: async function* (turn, signal): AsyncIterable<AgentEvent> {
      const said = firstText(turn.task.history.at(-1));
      if (said === "promise and fail") throw new Error("no answer came");
      if (said === "promise and refuse") {
        yield {
          case: "end",
          value: { state: TaskState.REJECTED, text: "Not this." },
        };
      }
      if (said === "promise and wait") {
        await new Promise((_resolve, reject) =>
          signal.addEventListener("abort", reject),
        );
      }
      if (said === "leave a call") {
        const call = create(ToolCallSchema, {
          toolCallId: "k",
          status: ToolCallStatus.PENDING,
          toolName: "t",
        });
        yield { case: "toolCalls", value: [{ call }] };
        yield {
          case: "end",
          value: { state: TaskState.REJECTED, text: "No." },
        };
      }
      yield {
        case: "text",
        value: `answered ${task.contextId === turn.task.contextId}`,
      };
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

const SKETCH = {
  ...{
    id: "sketch",
    name: "Sketch",
    description: "Draws a sketch.",
    tags: ["art"],
    examples: ["Draw a cat."],
  },
  ...{ inputModes: ["text/plain"], outputModes: ["image/png"] },
  security: [["bearer"]],
};

describe("an agent that is not ours", () => {
  let server: DevtoolServer;
  const errors: unknown[] = [];
  const onError = (reason: unknown): number => errors.push(reason);
  beforeAll(async () => {
    const about = {
      ...{
        name: "Painter",
        description: "Paints.",
        inputModes: ["text/plain", "image/*"],
      },
      outputModes: ["image/png", "text/plain"],
      skills: [SKETCH],
    };
    const painter = { about, open: () => ({ createExecutor }) };
    server = await createServer({
      workspace: process.cwd(),
      agents: { painter },
      onError,
    });
  });
  afterAll(() => server.close());

  const headers = () => ({ authorization: `Bearer ${server.token}` });
  const rest = () => {
    const found = bindingsOf(server.url, headers()).find(
      ({ name }) => name === "HTTP+JSON",
    );
    if (!found) throw new Error("no binding");
    return found;
  };
  const message = (text: string, more: Json = {}) => ({
    message: {
      messageId: crypto.randomUUID(),
      role: "ROLE_USER",
      parts: [{ text }],
    },
    ...more,
  });

  it("names its media types on the card, and answers clients that accept them", async () => {
    const card: Json = await (
      await fetch(`${server.url}/.well-known/agent-card.json`)
    ).json();
    expect(card).toMatchObject({
      name: "Painter",
      defaultOutputModes: ["image/png", "text/plain"],
    });
    const { security, ...sketch } = SKETCH;
    expect(card).toMatchObject({
      defaultInputModes: ["text/plain", "image/*"],
      skills: [sketch],
    });
    const versioned = async (version: string): Promise<Json> =>
      (
        await fetch(`${server.url}/.well-known/agent-card.json`, {
          headers: { "a2a-version": version },
        })
      ).json();
    expect((await versioned("0.3")).skills).toEqual([
      { ...sketch, security: [{ bearer: [] }] },
    ]);
    const { skills } = await versioned("1.0");
    expect(skills).toEqual([
      {
        ...sketch,
        securityRequirements: [{ schemes: { bearer: { list: ["operator"] } } }],
      },
    ]);
    const accepting = (acceptedOutputModes: string[]) =>
      rest().call(
        "SendMessage",
        message("hello", { configuration: { acceptedOutputModes } }),
      );
    expect((await accepting(["image/*"])).result.task.status.state).toBe(
      "TASK_STATE_COMPLETED",
    );
    expect((await accepting(["application/json"])).failure?.reason).toBe(
      "CONTENT_TYPE_NOT_SUPPORTED",
    );
  });

  it("gets parts of media types that its card does not list, since the card only informs clients", async () => {
    const parts = [{ text: "hello" }, { raw: "AAAA", mediaType: "audio/wav" }];
    const { result } = await rest().call("SendMessage", {
      message: { messageId: crypto.randomUUID(), role: "ROLE_USER", parts },
    });
    expect(result?.task.status.state).toBe("TASK_STATE_COMPLETED");
  });

  it("writes unexpected failures to the server's log, to which its task refers", async () => {
    errors.length = 0;
    await rest().call("SendMessage", message("promise and refuse"));
    expect(errors).toEqual([]);
    const { result } = await rest().call(
      "SendMessage",
      message("promise and fail"),
    );
    expect(JSON.stringify(result)).toContain(
      "internal error: the server's log says more",
    );
    expect(errors).toEqual([new Error("no answer came")]);
  });

  it("has its task shown, as it ended, where it promised a message and gave none", async () => {
    for (const [text, state] of [
      ["promise and fail", "TASK_STATE_FAILED"],
      ["promise and refuse", "TASK_STATE_REJECTED"],
    ] as const) {
      expect(
        (await rest().call("SendMessage", message(text))).result.task.status
          .state,
      ).toBe(state);
      const elements: Json[] = [];
      for await (const element of (
        await rest().stream("SendStreamingMessage", message(text))
      ).elements) {
        elements.push(element);
      }
      expect(elements).toMatchObject([{ task: { status: { state } } }]);
    }
  });

  it("is canceled like any other, even while no client sees its task", async () => {
    const sent = rest().call(
      "SendMessage",
      message("promise and wait", {
        configuration: { returnImmediately: true },
      }),
    );
    const listed = async (): Promise<Json> =>
      (await rest().call("ListTasks", { status: "TASK_STATE_WORKING" })).result
        .tasks[0] ?? listed();
    await rest().call("CancelTask", { id: (await listed()).id });
    expect((await sent).result.task.status.state).toBe("TASK_STATE_CANCELED");
  });

  it("leaves no call open behind it", async () => {
    const client = createDevtoolClient(
      createA2aTransport({ url: `${server.url}/`, token: server.token }),
    );
    let task = emptyTask();
    const request = { message: textMessage("m", "leave a call") };
    for await (const event of streamMessage(
      client,
      request,
      AbortSignal.timeout(60_000),
    )) {
      task = reduceTask(task, event);
    }
    expect([task.state, task.stateText, task.error]).toEqual([
      TaskState.REJECTED,
      "No.",
      "",
    ]);
    expect(
      task.history.flatMap(toolCallsOf).map(({ status }) => status),
    ).toEqual([ToolCallStatus.CANCELLED]);
  });

  it("has no slash commands, and says so", async () => {
    const response = await fetch(
      `${server.url}/devtool.v1alpha.SlashCommandService/RunSlashCommand`,
      {
        method: "POST",
        headers: { ...headers(), "content-type": "application/json" },
        body: JSON.stringify({ command: { command_path: ["shell"] } }),
      },
    );
    expect(await response.json()).toMatchObject({
      result: {
        status: "FAILED_TO_START",
        message: "/shell does not exist: this agent has no commands",
      },
    });
  });
});
