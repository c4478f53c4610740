import { create } from "@bufbuild/protobuf";
import { CALL_CHAIN_URI } from "@devtool/internal/call-chain-uri";
import { defined } from "@devtool/internal/json";
import { AgentThoughtSchema } from "./gen/devtool/a2a/v1alpha/event_pb.ts";
import {
  ErrorDetailsSchema,
  type ToolCall,
  ToolCallSchema,
} from "./gen/devtool/a2a/v1alpha/tool_call_pb.ts";
import {
  type Message,
  type Part,
  PartSchema,
  Role,
  type Task,
  type ToolCallDetail,
  ToolCallDetailSchema,
} from "./gen/devtool/v1alpha/task_pb.ts";
import { noteCalls } from "./known-calls.ts";
import { isPlainPart } from "./plain-part.ts";
import {
  confirmationsOf,
  isEnded,
  lastStepIndex,
  OPTION_PROCEED_ALWAYS,
  OPTION_PROCEED_ALWAYS_AND_SAVE,
  OPTION_PROCEED_ALWAYS_SERVER,
  OPTION_PROCEED_ALWAYS_TOOL,
} from "./tool-call.ts";

/**
 * Returns a task without the content of the messages of its history from one
 * index to before another, and of its artifacts.
 *
 * Texts, files, data and thoughts go, and so do arguments and outputs of calls
 * that have ended. What the state of the task and its next events depend on
 * stays: who sent which message with which settings, over which agents, calls,
 * their answers and the places of summaries, and as a whole open calls and the
 * messages of the user that the agent works on. Changed messages are new
 * objects.
 */
export function withoutContent(task: Task, from: number, to: number): Task {
  const present = firstPresent(task);
  const history = task.history.map((message, index) =>
    index < from ||
    index >= to ||
    (message.role === Role.USER && index >= present)
      ? message
      : emptyMessage(message),
  );
  noteCalls(task.history, history, []);
  const artifacts = task.artifacts.map((each) => ({ ...each, parts: [] }));
  return { ...task, history, artifacts };
}

/**
 * Returns the index from which messages of the user may be those that the agent
 * works on: its prompt, and answers to open calls.
 */
function firstPresent(task: Task): number {
  const prompt = task.history.findLastIndex(
    (message) =>
      message.role === Role.USER && confirmationsOf(message).length === 0,
  );
  const step = lastStepIndex(task);
  return Math.max(0, Math.min(prompt, step));
}

/**
 * Removes the content of a message. An empty part stands for all that have
 * nothing else: at the end of a message that ends with one of them, where the
 * next piece of a text continues it. It is a thought where all of them are
 * shown only with the extension.
 */
function emptyMessage({
  metadata,
  ideContext: _ideContext,
  ...rest
}: Message): Message {
  const chain = metadata?.[CALL_CHAIN_URI];
  const message =
    chain === undefined
      ? rest
      : { ...rest, metadata: { [CALL_CHAIN_URI]: chain } };
  const kept = message.parts.flatMap((part) => emptyPart(part) ?? []);
  const last = message.parts.at(-1);
  if (!last || kept.length === message.parts.length) {
    return { ...message, parts: kept };
  }
  const isShown = message.parts.some(isPlainPart);
  const content = isShown
    ? ({ case: "text", value: "" } as const)
    : ({ case: "thought", value: create(AgentThoughtSchema) } as const);
  const empty = create(PartSchema, { content });
  const endsWithText = emptyPart(last) === undefined;
  return {
    ...message,
    parts: endsWithText ? [...kept, empty] : [empty, ...kept],
  };
}

/** Removes the content of a part; undefined for a part that has nothing else. */
function emptyPart(part: Part): Part | undefined {
  const { content, toolCallDetail } = part;
  switch (content.case) {
    case "toolCall":
      return isEnded(content.value)
        ? create(PartSchema, {
            content: {
              case: "toolCall",
              value: emptyCall(content.value, toolCallDetail),
            },
            toolCallDetail: toolCallDetail && emptyDetail(toolCallDetail),
          })
        : part;
    case "confirmation": {
      const { modifiedDetails: _details, ...answer } = content.value;
      const value = { ...answer, modifiedDetails: { case: undefined } };
      return create(PartSchema, { content: { case: content.case, value } });
    }
    case "summary": {
      const value = { ...content.value, text: "" };
      return create(PartSchema, { content: { case: content.case, value } });
    }
    case "text":
    case "thought":
    case "file":
    case "data":
    case "dataValue":
    case "citation":
    case undefined:
      return undefined;
    default:
      return content satisfies never;
  }
}

/**
 * Leaves of a failure its kind, and of a call that was allowed for good its
 * arguments: later calls like it are allowed by them.
 */
function emptyCall(
  { toolCallId, status, toolName, inputParameters, result }: ToolCall,
  detail: ToolCallDetail | undefined,
): ToolCall {
  const isForGood = FOR_GOOD.has(detail?.selectedOptionId ?? "");
  const call = create(
    ToolCallSchema,
    defined({
      toolCallId,
      status,
      toolName,
      inputParameters: isForGood ? inputParameters : undefined,
    }),
  );
  if (result.case !== "error") return call;
  const value = create(
    ErrorDetailsSchema,
    defined({ type: result.value.type }),
  );
  return { ...call, result: { case: "error", value } };
}

function emptyDetail(detail: ToolCallDetail): ToolCallDetail {
  const { stage, parentToolCallId, selectedOptionId } = detail;
  const { rule, withoutSandbox, delegation } = detail;
  return create(ToolCallDetailSchema, {
    ...(delegation && { delegation }),
    stage,
    parentToolCallId,
    selectedOptionId,
    rule,
    withoutSandbox,
  });
}

/** The answers that also allow calls after their own. */
const FOR_GOOD: ReadonlySet<string> = new Set([
  OPTION_PROCEED_ALWAYS,
  OPTION_PROCEED_ALWAYS_AND_SAVE,
  OPTION_PROCEED_ALWAYS_TOOL,
  OPTION_PROCEED_ALWAYS_SERVER,
]);
