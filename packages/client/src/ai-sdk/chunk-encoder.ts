import { toJson } from "@bufbuild/protobuf";
import { base64Encode } from "@bufbuild/protobuf/wire";
import {
  type AgentThought,
  ArtifactSchema,
  type Citation,
  CitationSchema,
  isAtRest,
  type Part,
  PartSchema,
  type StateChange,
  type Task,
  type TaskEvent,
  TaskState,
  type ToolCall,
} from "@devtool/schema";
import type { UIMessage } from "ai";
import { ToolChunks } from "./tool-chunks.ts";
import type { Chunk } from "./ui-message.ts";

/**
 * Encodes the events of a task as chunks of one message of a chat, in order.
 */
export class ChunkEncoder {
  readonly #tools: ToolChunks;
  #openText = "";

  /**
   * `continued` is the message that the chunks continue. Default: they begin
   * one.
   */
  constructor(continued?: UIMessage) {
    this.#tools = new ToolChunks(continued);
  }

  /**
   * Returns the chunks of an event. `task` is the task after it.
   */
  encode(event: TaskEvent, task: Task): Chunk[] {
    const { payload, sequence } = event;
    switch (payload.case) {
      case "text":
        return this.#text(payload.value.text, sequence);
      case "thought":
        return [
          ...this.#endText(),
          ...thoughtChunks(payload.value, `thought-${sequence}`),
        ];
      case "toolCall":
        return this.#calls([payload.value], task);
      case "stateChange":
        return this.#stateChange(payload.value, event, task);
      case "reply":
        return [
          ...payload.value.parts.flatMap((part) =>
            this.#replyPart(part, sequence),
          ),
          ...this.#endText(),
          ...endOf(event, task),
        ];
      case "usage":
        return usageOf(task);
      case "notice":
        return [
          {
            type: "data-notice",
            data: { text: payload.value.text },
            transient: true,
          },
        ];
      case "summary":
        return [
          ...this.#endText(),
          { type: "data-summary", data: { text: payload.value.text } },
        ];
      case "citation":
        return [citationChunk(payload.value)];
      case "artifact":
        return artifactChunks(payload.value.artifact?.artifactId, task);
      case "messageQueued":
        return endOf(event, task);
      // The agent's message does not show what users do.
      case "created":
      case "message":
      case "messageTaken":
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

  #stateChange(
    { text, openCalls }: StateChange,
    event: TaskEvent,
    task: Task,
  ): Chunk[] {
    return [
      ...this.#calls(openCalls, task),
      ...(text === ""
        ? []
        : [...this.#endText(), ...this.#text(text, event.sequence)]),
      ...(isAtRest(event.state) ? this.#endText() : []),
      ...endOf(event, task),
    ];
  }

  #calls(calls: readonly ToolCall[], task: Task): Chunk[] {
    if (calls.length === 0) return [];
    return [
      ...this.#endText(),
      ...calls.flatMap((call) => this.#tools.update(call, task)),
      ...this.#tools.ask(task),
    ];
  }

  #text(delta: string, sequence: bigint): Chunk[] {
    if (this.#openText !== "") {
      return [{ type: "text-delta", id: this.#openText, delta }];
    }
    const id = `text-${sequence}`;
    this.#openText = id;
    return [
      { type: "text-start", id },
      { type: "text-delta", id, delta },
    ];
  }

  #endText(): Chunk[] {
    const id = this.#openText;
    this.#openText = "";
    return id === "" ? [] : [{ type: "text-end", id }];
  }

  #replyPart(part: Part, sequence: bigint): Chunk[] {
    const { content } = part;
    if (content.case === "text") return this.#text(content.value, sequence);
    if (content.case === "file") {
      const { mediaType, source } = content.value;
      const type = mediaType || "application/octet-stream";
      const bytes = source.case === "bytes" ? source.value : new Uint8Array();
      const url =
        source.case === "uri"
          ? source.value
          : `data:${type};base64,${base64Encode(bytes)}`;
      return [...this.#endText(), { type: "file", mediaType: type, url }];
    }
    return [
      ...this.#endText(),
      { type: "data-part", data: toJson(PartSchema, part) },
    ];
  }
}

/** The tokens that a task has used so far, as metadata of the message. */
function usageOf({ id, usage }: Task): Chunk[] {
  if (!usage) return [];
  const tokens = {
    inputTokens: Number(usage.inputTokens),
    outputTokens: Number(usage.outputTokens),
  };
  return [
    {
      type: "message-metadata",
      messageMetadata: { taskId: id, usage: tokens },
    },
  ];
}

/** A citation is a source of the message only if it has a URL. */
function citationChunk(citation: Citation): Chunk {
  const { uri, title } = citation;
  return uri === ""
    ? { type: "data-citation", data: toJson(CitationSchema, citation) }
    : { type: "source-url", sourceId: uri, url: uri, title: title || uri };
}

function endOf({ state }: TaskEvent, task: Task): Chunk[] {
  switch (state) {
    case TaskState.FAILED:
    case TaskState.REJECTED:
      return [
        {
          type: "error",
          errorText:
            task.error ||
            task.stateText ||
            `the task is ${TaskState[state].toLowerCase()}`,
        },
      ];
    case TaskState.CANCELED:
      return [{ type: "abort", reason: "the task was canceled" }];
    case TaskState.COMPLETED:
      return [{ type: "finish", finishReason: "stop" }];
    case TaskState.INPUT_REQUIRED:
    case TaskState.AUTH_REQUIRED:
      return [{ type: "finish", finishReason: "other" }];
    default:
      return [];
  }
}

function thoughtChunks(
  { subject, description }: AgentThought,
  id: string,
): Chunk[] {
  const thought = [subject, description].filter(Boolean).join("\n\n");
  return [
    { type: "reasoning-start", id },
    { type: "reasoning-delta", id, delta: thought },
    { type: "reasoning-end", id },
  ];
}

/** Returns the whole artifact, of which an event may add a part only. */
function artifactChunks(id: string | undefined, task: Task): Chunk[] {
  const artifact = task.artifacts.find(({ artifactId }) => artifactId === id);
  if (!artifact) return [];
  return [
    {
      type: "data-artifact",
      id: artifact.artifactId,
      data: toJson(ArtifactSchema, artifact),
    },
  ];
}
