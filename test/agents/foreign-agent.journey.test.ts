import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { MessageInitShape } from "@bufbuild/protobuf";
import {
  confirmationPart,
  type DevtoolClient,
  pendingToolCalls,
  streamMessage,
  textMessage,
} from "@devtool/client";
import { type CodingAgentOptions, codingAgent } from "@devtool/coding-agent";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import {
  emptyTask,
  type MessageSchema,
  reduceTask,
  type Task,
  TaskState,
  ToolCallStatus,
  toolCallsOf,
} from "@devtool/schema";
import { createServer, type DevtoolServer } from "@devtool/server";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { clientOf } from "../client-of.ts";
import {
  type ForeignServer,
  foreignServers,
} from "../interop/foreign-servers.ts";
import { patientCancels } from "./patient-cancels.ts";

const signal = AbortSignal.timeout(120_000);

/** A text starts the steps of its name; an answer plays those of `*`. */
const STEPS = {
  review: [
    { state: "working", text: "Reading." },
    { state: "input-required", text: "Which branch?" },
  ],
  hold: [{ state: "working" }, { hold: true }],
  "*": [
    { state: "working" },
    { artifact: "All is well." },
    { state: "completed", text: "Reviewed." },
  ],
};

describe("an agent that calls an agent on the official SDK for A2A 1.0", () => {
  let foreign: ForeignServer;
  let server: DevtoolServer;
  let client: DevtoolClient;

  beforeEach(async () => {
    const directory = temporaryDirectory();
    const script = join(directory, "steps.json");
    await writeFile(script, JSON.stringify(STEPS));
    const kind = foreignServers().find(
      ({ peer }) => peer === "@a2a-js/sdk 1.3.0",
    );
    if (!kind) throw new Error("there is no such SDK");
    foreign = await kind.start(script, "streaming");
    await serve();
  });
  afterEach(async () => {
    await server.close();
    await foreign[Symbol.asyncDispose]();
  });

  /** Starts the server of the calling agent. */
  async function serve(
    agentCalls: NonNullable<CodingAgentOptions["agentCalls"]> = {},
  ): Promise<void> {
    server = await createServer({
      agents: {
        devtool: codingAgent({
          agentCalls,
          remoteAgents: [
            { name: "reviewer", url: foreign.url, description: "Reviews." },
          ],
        }),
      },
      workspace: temporaryDirectory(),
    });
    client = clientOf(server);
  }

  it("has its question answered in words, in the same task, and gets its artifact", async () => {
    const asked = await answer(await send("review"));
    const [question] = pendingToolCalls(asked);
    expect(question?.confirmationRequest).toMatchObject({
      details: {
        value: {
          description: "Agent reviewer asks:\nReading.\n\nWhich branch?",
        },
      },
      options: [{ id: "proceed_once" }, { id: "cancel" }],
    });
    const done = await answer(asked, "main");
    expect(done.state).toBe(TaskState.COMPLETED);
    const calls = JSON.stringify(done.history, (_, value) =>
      typeof value === "bigint" ? String(value) : value,
    );
    expect(calls).toContain("Reviewed.");
    expect(calls).toContain("All is well.");
  });

  it("cancels its task", async () => {
    using _patience = patientCancels();
    const asked = await send("hold");
    const parts = pendingToolCalls(asked).map((call) =>
      confirmationPart(call, "proceed_once"),
    );
    const message = { messageId: crypto.randomUUID(), parts };
    let task = asked;
    let isCanceled = false;
    for await (const event of streamMessage(
      client,
      { message, taskId: asked.id },
      signal,
    )) {
      task = reduceTask(task, event);
      const isAtWork =
        event.payload.case === "toolCall" &&
        event.payload.value.status === ToolCallStatus.EXECUTING &&
        (event.toolCallDetail?.delegation?.taskId ?? "") !== "";
      if (isAtWork && !isCanceled) {
        isCanceled = true;
        await client.tasks.cancelTask({ taskId: asked.id });
      }
    }
    expect(task.state).toBe(TaskState.CANCELED);
    await isCanceledAtPeer(task);
  });

  it("ends a call of which it says nothing, and cancels its task", async () => {
    using _patience = patientCancels();
    await server.close();
    await serve({ silenceMs: 10_000 });
    const done = await answer(await send("hold"));
    expect(done.state).toBe(TaskState.COMPLETED);
    const ends = done.history.flatMap(toolCallsOf).map(({ result }) => result);
    expect(ends).toMatchObject([
      {
        value: {
          message:
            "agent reviewer: it said nothing for 10 seconds: its task was canceled",
        },
      },
    ]);
    await isCanceledAtPeer(done);
  });

  async function isCanceledAtPeer(task: Task): Promise<void> {
    const id = task.history
      .flatMap(({ parts }) => parts)
      .flatMap(({ toolCallDetail }) => toolCallDetail?.delegation?.taskId ?? [])
      .at(-1);
    const response = await fetch(`${foreign.url}/rest/tasks/${id}`, {
      headers: { "a2a-version": "1.0" },
    });
    expect(await response.text()).toContain("TASK_STATE_CANCELED");
  }

  function send(message: string): Promise<Task> {
    const text = `call agent_reviewer ${JSON.stringify({ message })}`;
    return follow(textMessage(crypto.randomUUID(), text), emptyTask());
  }

  function answer(task: Task, text = ""): Promise<Task> {
    const said = { content: { case: "text", value: text } } as const;
    const parts = pendingToolCalls(task).map((call) =>
      confirmationPart(call, "proceed_once"),
    );
    const message = { messageId: crypto.randomUUID(), parts };
    return follow(
      text === "" ? message : { ...message, parts: [...parts, said] },
      task,
    );
  }

  async function follow(
    message: MessageInitShape<typeof MessageSchema>,
    before: Task,
  ): Promise<Task> {
    let task = before;
    for await (const event of streamMessage(
      client,
      { message, taskId: before.id },
      signal,
    )) {
      task = reduceTask(task, event);
    }
    return task;
  }
});
