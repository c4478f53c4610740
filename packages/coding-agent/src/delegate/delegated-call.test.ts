import { create } from "@bufbuild/protobuf";
import { Code, ConnectError, createRouterTransport } from "@connectrpc/connect";
import { createDevtoolClient } from "@devtool/client";
import {
  emptyTask,
  MessageSchema,
  Role,
  StepRunSchema,
  type Task,
  TaskService,
  ToolCallSchema,
  ToolCallStatus,
} from "@devtool/schema";
import { Confirmations } from "@devtool/server/agent";
import { describe, expect, it } from "vitest";
import type { CalledAgent } from "./called-agent.ts";
import { runDelegated } from "./delegated-call.ts";

const never = new AbortController().signal;

/** A call at work, as its task has it. */
const AT_WORK: Task = {
  ...emptyTask(),
  id: "run",
  history: [
    create(MessageSchema, {
      role: Role.AGENT,
      parts: [
        {
          content: {
            case: "toolCall",
            value: create(ToolCallSchema, {
              toolCallId: "call",
              status: ToolCallStatus.EXECUTING,
            }),
          },
        },
      ],
    }),
  ],
};

/** What an agent lists, each as a task with the id of its message. */
type Listed = (messageId: string, contextId: string) => readonly Task[];

/**
 * Makes a call of an agent that knows no message twice, and fails each message
 * with a code.
 *
 * @param listed the tasks that it lists for any context. Default: it cannot list
 */
async function outcomeOf(
  code: Code,
  task: Task,
  listed?: Listed,
): Promise<{
  readonly sent: number;
  readonly canceled: readonly string[];
  readonly ended: unknown;
  readonly notices: readonly string[];
}> {
  let sent = 0;
  let tasks: readonly Task[] = [];
  const canceled: string[] = [];
  const notices: string[] = [];
  const client = createDevtoolClient(
    createRouterTransport(({ service }) =>
      service(TaskService, {
        streamMessage: ({ request }) => {
          sent++;
          const { messageId = "" } = request?.message ?? {};
          tasks = listed?.(messageId, request?.contextId ?? "") ?? [];
          throw new ConnectError("no", code);
        },
        listTasks: () => {
          if (!listed) throw new ConnectError("no", Code.Unimplemented);
          return {
            tasks: tasks.map((task) => ({
              id: task.id,
              contextId: task.contextId,
            })),
          };
        },
        getTask: ({ taskId }) => ({
          task: tasks.find(({ id }) => id === taskId) ?? emptyTask(),
        }),
        cancelTask: ({ taskId }) => {
          canceled.push(taskId);
          return {};
        },
      }),
    ),
  );
  const agent: CalledAgent = {
    name: "far",
    description: "",
    place: "elsewhere",
    chainId: "far",
    definitionHash: "",
    connect: async () => ({ client, isIdempotent: false }),
    settingsFor: () => ({}),
  };
  let ended: unknown = "nothing";
  const updates = runDelegated(
    {
      toolCallId: "call",
      agent,
      message: "go",
      conversation: { key: "talk", taskIds: ["before"] },
      chain: [],
      stepRun: (_call, _messageId, end) => {
        ended = end;
        return create(StepRunSchema);
      },
    },
    {
      turn: {
        task,
        confirmations: new Confirmations(),
        traceContext: () => undefined,
      },
      services: {
        nextId: () => "question",
        onNotice: (text) => void notices.push(text),
      },
      signal: never,
    },
    never,
  );
  for await (const update of updates) void update;
  return { sent, canceled, ended, notices };
}

function listedTask(id: string, contextId: string, messageId: string): Task {
  const message = create(MessageSchema, { messageId, role: Role.USER });
  return { ...emptyTask(), id, contextId, history: [message] };
}

describe("a call that a program makes", () => {
  it("is not known to have ended where the message may have arrived", async () => {
    expect(
      await outcomeOf(Code.DataLoss, { ...emptyTask(), id: "run" }),
    ).toEqual({
      sent: 1,
      canceled: [],
      ended: "unknown",
      notices: [
        expect.stringMatching(
          /^agent "far" could not be told to cancel what task "run" gave it: .* lists none; its work may go on/,
        ),
      ],
    });
    expect(await outcomeOf(Code.Internal, AT_WORK)).toEqual({
      sent: 0,
      canceled: [],
      ended: "unknown",
      notices: [],
    });
  });

  it("cancels the task that shows its message, and no other of the conversation", async () => {
    const start = { ...emptyTask(), id: "run" };
    const outcome = await outcomeOf(Code.DataLoss, start, (id, contextId) => [
      listedTask("before", contextId, id),
      listedTask("other", contextId, "another message"),
      listedTask("own", contextId, id),
      listedTask("unasked", "another context", id),
    ]);
    expect(outcome).toMatchObject({ canceled: ["own"], ended: undefined });
    expect(outcome.notices).toEqual([]);
  });

  it.each<[string, Listed]>([
    ["none", () => []],
    ["others alone", (_id, contextId) => [listedTask("x", contextId, "y")]],
  ])(
    "is not known to have ended where the agent lists %s",
    async (_, listed) => {
      const start = { ...emptyTask(), id: "run" };
      const outcome = await outcomeOf(Code.DataLoss, start, listed);
      expect(outcome).toMatchObject({ canceled: [], ended: "unknown" });
      expect(outcome.notices).toEqual([
        expect.stringMatching(/could not be told to cancel .* lists none/),
      ]);
    },
  );

  it("has ended where the agent refused the message", async () => {
    expect(
      await outcomeOf(Code.ResourceExhausted, { ...emptyTask(), id: "run" }),
    ).toMatchObject({ ended: undefined, notices: [] });
  });
});
