import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  type ConfirmationRequestSchema,
  type Message,
  openToolCalls,
  Role,
  TaskState,
  ToolCallDetailSchema,
  ToolCallSchema,
  ToolCallStatus,
} from "@devtool/schema";
import type {
  AgentEvent,
  AgentExecutor,
  Turn,
} from "../src/agent/agent-executor.ts";

/**
 * Creates an agent that makes a call for the message `first`, asks the user,
 * and runs the call when it is approved.
 */
export class AskingAgent implements AgentExecutor {
  readonly heard: string[] = [];

  modelFor(): string {
    return "";
  }

  async *execute(turn: Turn, aborting: AbortSignal): AsyncIterable<AgentEvent> {
    const isText = ({ parts }: Message): boolean =>
      parts[0]?.content.case === "text";
    const messageId = turn.task.history.findLast(isText)?.messageId ?? "";
    this.heard.push(messageId);
    if (messageId !== "first") return;
    if (openToolCalls(turn.task).length === 0) {
      turn.confirmations.open("c1");
      yield callUpdate(ToolCallStatus.PENDING, {
        options: [{ id: "proceed_once", name: "Yes" }],
      });
      await turn.confirmations.wait("c1", aborting);
    }
    yield callUpdate(ToolCallStatus.EXECUTING);
    yield callUpdate(ToolCallStatus.SUCCEEDED);
  }

  async [Symbol.asyncDispose](): Promise<void> {}
}

/** Creates an agent whose call asks a question while it runs. */
export class InquiringAgent implements AgentExecutor {
  modelFor(): string {
    return "";
  }

  async *execute(
    _turn: Turn,
    aborting: AbortSignal,
  ): AsyncIterable<AgentEvent> {
    yield callUpdate(ToolCallStatus.PENDING);
    yield callUpdate(ToolCallStatus.EXECUTING);
    const question = create(ToolCallSchema, {
      toolCallId: "q1",
      toolName: "act",
      status: ToolCallStatus.PENDING,
      confirmationRequest: { options: [{ id: "proceed_once", name: "Yes" }] },
    });
    const detail = create(ToolCallDetailSchema, { parentToolCallId: "c1" });
    yield { case: "toolCalls", value: [{ call: question, detail }] };
    await new Promise((_resolve, reject) =>
      aborting.addEventListener("abort", () => reject(aborting.reason)),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {}
}

/**
 * Creates an agent that asks about a call, ends its turn, and reads the answer
 * in the next turn.
 */
export class LeavingAgent implements AgentExecutor {
  readonly heard: string[] = [];
  readonly left = Promise.withResolvers<void>();

  modelFor(): string {
    return "";
  }

  async *execute(turn: Turn): AsyncIterable<AgentEvent> {
    const messageId =
      turn.task.history.findLast(({ role }) => role === Role.USER)?.messageId ??
      "";
    this.heard.push(messageId);
    if (messageId === "answer") yield callUpdate(ToolCallStatus.EXECUTING);
    if (messageId === "answer") yield callUpdate(ToolCallStatus.SUCCEEDED);
    if (messageId !== "first") return;
    yield callUpdate(ToolCallStatus.PENDING, {
      options: [{ id: "proceed_once", name: "Yes" }],
    });
    await this.left.promise;
    yield {
      case: "end",
      value: { state: TaskState.INPUT_REQUIRED, text: "May I?" },
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {}
}

function callUpdate(
  status: ToolCallStatus,
  confirmationRequest?: MessageInitShape<typeof ConfirmationRequestSchema>,
): AgentEvent {
  const asks = confirmationRequest && { confirmationRequest };
  return {
    case: "toolCalls",
    value: [
      {
        call: create(ToolCallSchema, {
          toolCallId: "c1",
          toolName: "act",
          status,
          ...asks,
        }),
      },
    ],
  };
}
