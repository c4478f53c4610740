import { create } from "@bufbuild/protobuf";
import { DevelopmentToolEvent_DevelopmentToolEventKind as Kind } from "../gen/devtool/a2a/v1alpha/event_pb.ts";
import { ToolCallStatus } from "../gen/devtool/a2a/v1alpha/tool_call_pb.ts";
import type { TaskEvent } from "../gen/devtool/v1alpha/task_event_pb.ts";
import {
  type Message,
  MessageSchema,
  type Part,
  PartSchema,
  Role,
} from "../gen/devtool/v1alpha/task_pb.ts";
import { endsExchange } from "../task-state.ts";

/**
 * Returns whether A2A clients with the extension receive an update for an event
 * (STREAM-2).
 *
 * They receive none for:
 * - a message that only holds answers,
 * - the answered call until it runs: the first update after an answer is the
 *   call EXECUTING or CANCELLED,
 * - an event without a payload, which only records that the extension is
 *   active.
 */
export function isFramed({ payload, toolCallDetail }: TaskEvent): boolean {
  if (payload.case === "message") {
    return payload.value.parts.some(
      ({ content }) => content.case !== "confirmation",
    );
  }
  if (payload.case !== "toolCall") return payload.case !== undefined;
  const { status, confirmationRequest } = payload.value;
  const wasAnswered = (toolCallDetail?.selectedOptionId ?? "") !== "";
  return !(
    wasAnswered &&
    status === ToolCallStatus.PENDING &&
    confirmationRequest === undefined
  );
}

/**
 * Returns the RFC's kind of an event. Only a change of the task's state is a
 * STATE_CHANGE, and the end of the exchange of a message that waits behind a
 * question.
 */
export function kindOfEvent(event: TaskEvent): Kind {
  if (endsExchange(event)) return Kind.STATE_CHANGE;
  const { payload } = event;
  switch (payload.case) {
    case "text":
    case "citation":
      return Kind.TEXT_CONTENT;
    case "thought":
      return Kind.THOUGHT;
    case "toolCall":
      return Kind.TOOL_CALL_UPDATE;
    case "created":
    case "message":
    case "stateChange":
    case "reply":
      return Kind.STATE_CHANGE;
    case "usage":
    case "notice":
    case "summary":
    case "artifact":
    case "messageQueued":
    case "messageTaken":
    case "messageWithdrawn":
    case "renamed":
    case "sessionTools":
    case "goalProgress":
    case "workflowRun":
    case "ideContext":
    case undefined:
      return Kind.DEVELOPMENT_TOOL_EVENT_KIND_UNSPECIFIED;
    default:
      return payload satisfies never;
  }
}

/**
 * Returns the agent's message in the update of an event, or undefined if the
 * update has none.
 */
export function agentMessageOf(event: TaskEvent): Message | undefined {
  const messageId = `${event.taskId}:${event.sequence}`;
  if (event.payload.case === "reply") {
    return { ...event.payload.value, messageId, role: Role.AGENT };
  }
  const parts = contentsOf(event).map((content) =>
    create(PartSchema, { content }),
  );
  return parts.length === 0
    ? undefined
    : create(MessageSchema, { messageId, role: Role.AGENT, parts });
}

function contentsOf({ payload }: TaskEvent): readonly Part["content"][] {
  switch (payload.case) {
    case "text":
      return [{ case: "text", value: payload.value.text }];
    case "notice":
      return payload.value.text === ""
        ? []
        : [{ case: "text", value: payload.value.text }];
    case "stateChange": {
      const { text, openCalls } = payload.value;
      const asked = openCalls.map(
        (value) => ({ case: "toolCall", value }) as const,
      );
      return text === "" ? asked : [{ case: "text", value: text }, ...asked];
    }
    case "messageQueued":
      return payload.value.openCalls.map((value) => ({
        case: "toolCall",
        value,
      }));
    case "citation":
    case "thought":
    case "toolCall":
      return [payload];
    default:
      return [];
  }
}
