import { create, type JsonObject, toJson } from "@bufbuild/protobuf";
import { defined, objectOrEmpty } from "@devtool/internal/json";
import type { ToolCall } from "../gen/devtool/a2a/v1alpha/tool_call_pb.ts";
import {
  ActivitySnapshotEventSchema,
  ToolCallActivitySchema,
  ToolCallArgsEventSchema,
  ToolCallEndEventSchema,
  ToolCallResultEventSchema,
  ToolCallStartEventSchema,
} from "../gen/devtool/ag_ui/v1alpha/event_pb.ts";
import type { Task } from "../gen/devtool/v1alpha/task_pb.ts";
import { jsonValue } from "../rfc-json.ts";
import {
  findToolCallDetail,
  hasToolCall,
  isEnded,
  toolCallsOf,
} from "../tool-call.ts";
import { encodeEvent } from "./encode-event.ts";
import { resultId, resultTextOf } from "./thread-messages.ts";

/**
 * Encodes the tool calls of a run. A call that the thread already has is not
 * started again; only its result follows.
 */
export class ToolEvents {
  readonly #begun: Set<string>;
  readonly #ended: Set<string>;
  /**
   * The last activity of each call as JSON text. An equal one is not sent
   * again.
   */
  readonly #activities = new Map<string, string>();

  /** `task` is the task as the client knows it. */
  constructor({ history }: Task) {
    const calls = history.flatMap(toolCallsOf);
    this.#begun = new Set(calls.map(({ toolCallId }) => toolCallId));
    this.#ended = new Set(
      calls.filter(isEnded).map(({ toolCallId }) => toolCallId),
    );
  }

  /**
   * Returns the events that show a call as it is now. `task` is the task with
   * it.
   */
  update(call: ToolCall, task: Task): JsonObject[] {
    return [
      ...this.#begin(call, task),
      ...this.#activity(call, task),
      ...this.#end(call),
    ];
  }

  /** Returns the events that show the arguments of a new call. */
  #begin(
    { toolCallId, toolName, inputParameters = {} }: ToolCall,
    task: Task,
  ): JsonObject[] {
    if (this.#begun.has(toolCallId)) return [];
    this.#begun.add(toolCallId);
    const parentMessageId =
      task.history.findLast((message) => hasToolCall(message, toolCallId))
        ?.messageId ?? "";
    return [
      encodeEvent(ToolCallStartEventSchema, {
        toolCallId,
        toolCallName: toolName,
        parentMessageId,
      }),
      encodeEvent(ToolCallArgsEventSchema, {
        toolCallId,
        delta: JSON.stringify(inputParameters),
      }),
      encodeEvent(ToolCallEndEventSchema, { toolCallId }),
    ];
  }

  /** Returns the event that shows how far a call is, if that has changed. */
  #activity(
    { toolCallId, status, description, liveContent }: ToolCall,
    task: Task,
  ): JsonObject[] {
    const { progress, parentToolCallId } =
      findToolCallDetail(task, toolCallId) ?? {};
    const activity = defined({
      toolCallId,
      status,
      description,
      liveContent,
      progress,
      parentToolCallId,
    });
    const activityJson = toJson(
      ToolCallActivitySchema,
      create(ToolCallActivitySchema, activity),
    );
    const shown = JSON.stringify(activityJson);
    if (this.#activities.get(toolCallId) === shown) return [];
    this.#activities.set(toolCallId, shown);
    return [
      encodeEvent(ActivitySnapshotEventSchema, {
        messageId: `${toolCallId}:activity`,
        activityType: "devtool.toolCall",
        content: objectOrEmpty(activityJson),
      }),
    ];
  }

  /** Returns the event with the result of a call that has ended. */
  #end(call: ToolCall): JsonObject[] {
    const { toolCallId } = call;
    if (!isEnded(call) || this.#ended.has(toolCallId)) return [];
    this.#ended.add(toolCallId);
    return [
      encodeEvent(ToolCallResultEventSchema, {
        messageId: resultId(toolCallId),
        toolCallId,
        content: jsonValue(resultTextOf(call)),
        role: "tool",
      }),
    ];
  }
}
