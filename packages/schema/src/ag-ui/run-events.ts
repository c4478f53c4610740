import {
  create,
  type JsonObject,
  type JsonValue,
  toJson,
} from "@bufbuild/protobuf";
import { objectOrEmpty } from "@devtool/internal/json";
import type { ToolCall } from "../gen/devtool/a2a/v1alpha/tool_call_pb.ts";
import {
  ActivitySnapshotEventSchema,
  CustomEventSchema,
  ReasoningEndEventSchema,
  ReasoningMessageContentEventSchema,
  ReasoningMessageEndEventSchema,
  ReasoningMessageStartEventSchema,
  ReasoningStartEventSchema,
  TextMessageContentEventSchema,
  TextMessageEndEventSchema,
  TextMessageStartEventSchema,
  type TokenUsage,
  TokenUsageSchema,
} from "../gen/devtool/ag_ui/v1alpha/event_pb.ts";
import {
  NoticeSchema,
  type TaskEvent,
} from "../gen/devtool/v1alpha/task_event_pb.ts";
import {
  ArtifactSchema,
  CitationSchema,
  type Message,
  PartSchema,
  SummarySchema,
  type Task,
  type Usage,
} from "../gen/devtool/v1alpha/task_pb.ts";
import { reduceTask } from "../reduce-task.ts";
import { jsonValue } from "../rfc-json.ts";
import { contentOf } from "./content.ts";
import { encodeEvent } from "./encode-event.ts";
import { stateMessageId, thoughtId, thoughtText } from "./thread-messages.ts";
import { ToolEvents } from "./tool-events.ts";

/**
 * Encodes the events of a task as events of a run, between its first and its
 * last one.
 */
export class RunEvents {
  #task: Task;
  readonly #tools: ToolEvents;
  /** The ids of the users' messages that the client has. */
  readonly #shown: Set<string>;
  /** The id of the message that text is added to; empty if none is open. */
  #openText = "";
  /** What each model used, by its name. */
  readonly #usage = new Map<string, TokenUsage>();

  /**
   * `task` is the task as the client knows it, and `ownMessageId` the id of the
   * message that the run sends; empty if it sends none.
   */
  constructor(task: Task, ownMessageId: string) {
    this.#task = task;
    this.#tools = new ToolEvents(task);
    const messages = [
      ...task.history,
      ...task.queuedMessages.flatMap(({ message }) => message ?? []),
    ];
    this.#shown = new Set([
      ...messages.map(({ messageId }) => messageId),
      ownMessageId,
    ]);
  }

  /** The task after the last event. */
  get task(): Task {
    return this.#task;
  }

  /** The tokens that models have used in this run, one entry for each model. */
  get usage(): TokenUsage[] {
    return [...this.#usage.values()];
  }

  /**
   * Returns the events of the run that show an event of the task. Call it for
   * each event, in order.
   */
  receive(event: TaskEvent): JsonObject[] {
    this.#task = reduceTask(this.#task, event);
    const { payload } = event;
    switch (payload.case) {
      case "text":
        return this.#text(
          payload.value.text,
          this.#task.history.at(-1)?.messageId ?? "",
        );
      case "thought":
        return [
          ...this.endText(),
          ...this.#thought(thoughtText(payload.value)),
        ];
      case "toolCall":
        return this.#calls([payload.value]);
      case "stateChange": {
        const { text, openCalls } = payload.value;
        return [
          ...this.#calls(openCalls),
          ...this.#text(text, stateMessageId(this.#task)),
        ];
      }
      case "reply": {
        const { parts, messageId } = payload.value;
        return parts.flatMap((part) => {
          if (part.content.case === "text") {
            return this.#text(part.content.value, messageId);
          }
          return this.#custom("part", toJson(PartSchema, part));
        });
      }
      case "created":
      case "messageQueued":
        return payload.value.message
          ? this.#message(payload.value.message)
          : [];
      case "message":
        return this.#message(payload.value);
      case "messageTaken": {
        const taken = this.#task.history.findLast(
          ({ messageId }) => messageId === payload.value.messageId,
        );
        return taken ? this.#message(taken) : [];
      }
      case "notice":
        return this.#custom("notice", toJson(NoticeSchema, payload.value));
      case "citation":
        return this.#custom("citation", toJson(CitationSchema, payload.value));
      case "summary":
        return this.#custom("summary", toJson(SummarySchema, payload.value));
      case "artifact":
        return this.#artifact(payload.value.artifact?.artifactId ?? "");
      case "usage":
        this.#addUsage(event.model, payload.value);
        return [];
      case "messageWithdrawn":
      case "renamed":
      case "sessionTools":
      case "goalProgress":
      case "workflowRun":
      case "ideContext":
      case undefined:
        return [];
      default:
        return payload satisfies never;
    }
  }

  /**
   * Returns the event that ends the message which text is added to; none if
   * none is open.
   */
  endText(): JsonObject[] {
    const messageId = this.#openText;
    this.#openText = "";
    return messageId === ""
      ? []
      : [encodeEvent(TextMessageEndEventSchema, { messageId })];
  }

  #addUsage(
    model: string,
    { inputTokens, outputTokens, thoughtTokens, cachedTokens }: Usage,
  ): void {
    const used = this.#usage.get(model) ?? create(TokenUsageSchema, { model });
    this.#usage.set(model, {
      ...used,
      inputTokens: used.inputTokens + Number(inputTokens),
      outputTokens: used.outputTokens + Number(outputTokens),
      reasoningTokens: used.reasoningTokens + Number(thoughtTokens),
      cachedInputTokens: used.cachedInputTokens + Number(cachedTokens),
    });
  }

  #text(delta: string, messageId: string): JsonObject[] {
    if (delta === "") return [];
    const content = encodeEvent(TextMessageContentEventSchema, {
      messageId,
      delta,
    });
    if (this.#openText === messageId) return [content];
    const ended = this.endText();
    this.#openText = messageId;
    return [
      ...ended,
      encodeEvent(TextMessageStartEventSchema, {
        messageId,
        role: "assistant",
      }),
      content,
    ];
  }

  #thought(delta: string): JsonObject[] {
    if (delta === "") return [];
    const { messageId: step = "", parts = [] } =
      this.#task.history.at(-1) ?? {};
    const messageId = thoughtId(
      step,
      parts.filter(({ content }) => content.case === "thought").length - 1,
    );
    return [
      encodeEvent(ReasoningStartEventSchema, { messageId }),
      encodeEvent(ReasoningMessageStartEventSchema, {
        messageId,
        role: "reasoning",
      }),
      encodeEvent(ReasoningMessageContentEventSchema, { messageId, delta }),
      encodeEvent(ReasoningMessageEndEventSchema, { messageId }),
      encodeEvent(ReasoningEndEventSchema, { messageId }),
    ];
  }

  #calls(calls: readonly ToolCall[]): JsonObject[] {
    if (calls.length === 0) return [];
    return [
      ...this.endText(),
      ...calls.flatMap((call) => this.#tools.update(call, this.#task)),
    ];
  }

  /** Shows a user's message that was sent by another client. */
  #message({ messageId, parts }: Message): JsonObject[] {
    if (this.#shown.has(messageId)) return [];
    this.#shown.add(messageId);
    const texts = parts.flatMap(({ content }) =>
      content.case === "text" ? [content.value] : [],
    );
    if (!contentOf(parts)) return [];
    return [
      ...this.endText(),
      encodeEvent(TextMessageStartEventSchema, { messageId, role: "user" }),
      ...texts
        .filter((delta) => delta !== "")
        .map((delta) =>
          encodeEvent(TextMessageContentEventSchema, { messageId, delta }),
        ),
      encodeEvent(TextMessageEndEventSchema, { messageId }),
    ];
  }

  #artifact(id: string): JsonObject[] {
    const artifact = this.#task.artifacts.find(
      ({ artifactId }) => artifactId === id,
    );
    if (!artifact) return [];
    const place = {
      messageId: `${this.#task.id}:artifact:${id}`,
      activityType: "devtool.artifact",
    };
    const content = objectOrEmpty(toJson(ArtifactSchema, artifact));
    return [encodeEvent(ActivitySnapshotEventSchema, { ...place, content })];
  }

  #custom(name: string, json: JsonValue): JsonObject[] {
    return [
      ...this.endText(),
      encodeEvent(CustomEventSchema, {
        name: `devtool.${name}`,
        value: jsonValue(json),
      }),
    ];
  }
}
