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

/**
 * Makes a call of an agent that knows no message twice and lists no tasks, and
 * fails each message with a code.
 */
async function outcomeOf(
  code: Code,
  task: Task,
): Promise<{
  readonly sent: number;
  readonly ended: unknown;
  readonly notices: readonly string[];
}> {
  let sent = 0;
  const notices: string[] = [];
  const client = createDevtoolClient(
    createRouterTransport(({ service }) =>
      service(TaskService, {
        streamMessage: () => {
          sent++;
          throw new ConnectError("no", code);
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
    connect: async () => ({ client, isIdempotent: false, isOwnServer: false }),
    settingsFor: () => ({}),
  };
  let ended: unknown = "nothing";
  const updates = runDelegated(
    {
      toolCallId: "call",
      agent,
      message: "go",
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
  return { sent, ended, notices };
}

describe("a call that a program makes", () => {
  it("is not known to have ended where the message may have arrived", async () => {
    expect(
      await outcomeOf(Code.DataLoss, { ...emptyTask(), id: "run" }),
    ).toEqual({
      sent: 1,
      ended: "unknown",
      notices: [
        expect.stringMatching(
          /^agent "far" could not be told to cancel what task "run" gave it: .* lists none; its work may go on/,
        ),
      ],
    });
    expect(await outcomeOf(Code.Internal, AT_WORK)).toEqual({
      sent: 0,
      ended: "unknown",
      notices: [],
    });
  });

  it("has ended where the agent refused the message", async () => {
    expect(
      await outcomeOf(Code.ResourceExhausted, { ...emptyTask(), id: "run" }),
    ).toMatchObject({ ended: undefined, notices: [] });
  });
});
