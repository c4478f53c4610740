import { create } from "@bufbuild/protobuf";
import type { ToolCall } from "./gen/devtool/a2a/v1alpha/tool_call_pb.ts";
import {
  type Message,
  MessageSchema,
  type Part,
  PartSchema,
  Role,
  type Summary,
  type Task,
  type ToolCallDetail,
} from "./gen/devtool/v1alpha/task_pb.ts";
import { mayHoldCall } from "./known-calls.ts";
import {
  answeredToolCall,
  confirmationsOf,
  hasToolCall,
  isEnded,
  toolCallsOf,
} from "./tool-call.ts";

/**
 * Adds a client's message to the history. The calls that it answers no longer
 * ask.
 */
export function withMessage(task: Task, message: Message): Task {
  const answered = confirmationsOf(message).reduce(
    (history, answer) =>
      changeCall(history, answer.toolCallId, ({ call, detail }) => ({
        call: answeredToolCall(call, answer),
        detail,
      })),
    task.history,
  );
  return { ...task, history: [...answered, message] };
}

interface DetailedCall {
  readonly call: ToolCall;
  readonly detail: ToolCallDetail | undefined;
}

/**
 * Returns the history with one call changed; the same history if it does not
 * have the call.
 */
function changeCall(
  history: Message[],
  toolCallId: string,
  change: (call: DetailedCall) => DetailedCall,
): Message[] {
  if (!mayHoldCall(history, toolCallId)) return history;
  const index = history.findLastIndex((message) =>
    hasToolCall(message, toolCallId),
  );
  const step = history[index];
  if (!step) return history;
  const parts = step.parts.map((part) =>
    part.content.case === "toolCall" &&
    part.content.value.toolCallId === toolCallId
      ? callPart(
          change({ call: part.content.value, detail: part.toolCallDetail }),
        )
      : part,
  );
  return history.with(index, { ...step, parts });
}

/**
 * Adds text to the agent's step. It continues the text at the end of the step,
 * if there is one.
 */
export function withText(task: Task, text: string, sequence: bigint): Task {
  const step = openStep(task);
  const last = step?.parts.at(-1)?.content;
  if (!step || last?.case !== "text") {
    return withAgentPart(task, { case: "text", value: text }, sequence);
  }
  const longer = create(PartSchema, {
    content: { case: "text", value: last.value + text },
  });
  return withLastStep(task, {
    ...step,
    parts: [...step.parts.slice(0, -1), longer],
  });
}

/**
 * Replaces the call with the same id, or adds the call to the agent's step. A
 * missing detail stays as it was.
 */
export function withToolCall(
  task: Task,
  call: ToolCall,
  detail: ToolCallDetail | undefined,
  sequence: bigint,
): Task {
  const history = changeCall(task.history, call.toolCallId, (earlier) => ({
    call,
    detail: detail ?? earlier.detail,
  }));
  return history === task.history
    ? addToStep(task, callPart({ call, detail }), sequence)
    : { ...task, history };
}

/**
 * Adds a part to the agent's step. A new step starts after a client's message,
 * and after calls that have ended.
 */
export function withAgentPart(
  task: Task,
  content: Part["content"],
  sequence: bigint,
): Task {
  return addToStep(task, create(PartSchema, { content }), sequence);
}

/**
 * Adds a summary as a step of its own, which later parts follow. After it, only
 * the next step says how full the context is.
 */
export function withSummary(
  task: Task,
  value: Summary,
  sequence: bigint,
): Task {
  const part = create(PartSchema, { content: { case: "summary", value } });
  const summarized = {
    ...task,
    history: [...task.history, createStep(task, part, sequence)],
  };
  return task.usage
    ? { ...summarized, usage: { ...task.usage, contextTokens: 0n } }
    : summarized;
}

/**
 * Returns the summary that a message holds, or undefined for any other message.
 */
export function summaryOf({ parts }: Message): Summary | undefined {
  for (const { content } of parts) {
    if (content.case === "summary") return content.value;
  }
  return undefined;
}

function addToStep(task: Task, part: Part, sequence: bigint): Task {
  const step = openStep(task);
  return step
    ? withLastStep(task, { ...step, parts: [...step.parts, part] })
    : { ...task, history: [...task.history, createStep(task, part, sequence)] };
}

function createStep({ id }: Task, part: Part, sequence: bigint): Message {
  return create(MessageSchema, {
    messageId: `${id}:${sequence}`,
    role: Role.AGENT,
    parts: [part],
  });
}

/** Returns the agent's last message if parts may be added to it. */
function openStep(task: Task): Message | undefined {
  const last = task.history.at(-1);
  if (last?.role !== Role.AGENT) return undefined;
  if (last.parts.at(-1)?.content.case === "summary") return undefined;
  const calls = toolCallsOf(last);
  return calls.length > 0 && calls.every(isEnded) ? undefined : last;
}

function withLastStep(task: Task, step: Message): Task {
  return { ...task, history: [...task.history.slice(0, -1), step] };
}

function callPart({ call, detail }: DetailedCall): Part {
  return create(PartSchema, {
    content: { case: "toolCall", value: call },
    toolCallDetail: detail,
  });
}
