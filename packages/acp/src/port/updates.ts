import type {
  ClientCapabilities,
  ContentBlock,
  PlanEntry,
  SessionUpdate,
} from "@agentclientprotocol/sdk";
import { defined, isObject } from "@devtool/internal/json";
import { visibleText } from "@devtool/internal/visible-text";
import {
  type AgentThought,
  McpConnectionState,
  type Message,
  type Notice,
  Role,
  type SessionTools,
  type StateChange,
  type Summary,
  type Task,
  type TaskEvent,
  TaskState,
  type ToolCall,
} from "@devtool/schema";
import { type CallView, callView, changesOf } from "./call-view.ts";
import { blocksFromParts, linkBlock } from "./content.ts";

/**
 * Translates what happens in the tasks of a session into ACP's session updates.
 */
export class SessionUpdates {
  /** The calls that the client knows, as it last saw them. */
  readonly #calls = new Map<string, CallView>();
  /** The plan that the client has, as JSON. */
  #plan = "";
  readonly #capabilities: ClientCapabilities;
  readonly #workspace: string;
  /** The names of the MCP servers that the client brought. */
  readonly #brought: ReadonlySet<string>;

  constructor(
    capabilities: ClientCapabilities,
    workspace: string,
    brought: ReadonlySet<string> = new Set(),
  ) {
    this.#capabilities = capabilities;
    this.#workspace = workspace;
    this.#brought = brought;
  }

  /**
   * Returns the updates for an event. Messages of this client, whose ids are in
   * `own`, are not repeated to it.
   */
  ofEvent(
    { payload, state, taskId, sequence }: TaskEvent,
    own: ReadonlySet<string>,
  ): SessionUpdate[] {
    switch (payload.case) {
      case "text":
        return messageChunks([{ type: "text", text: payload.value.text }]);
      case "thought":
        return [thoughtChunk(payload.value)];
      case "toolCall":
        return this.ofCall(payload.value, taskId);
      case "message":
        return own.has(payload.value.messageId)
          ? []
          : userChunks(payload.value);
      case "artifact":
        return messageChunks(
          blocksFromParts(payload.value.artifact?.parts ?? []),
        );
      case "reply":
        return messageChunks(blocksFromParts(payload.value.parts));
      case "citation":
        return messageChunks([
          linkBlock(payload.value.uri, payload.value.title),
        ]);
      case "notice":
        return this.#notice(payload.value);
      case "sessionTools":
        return this.#missingServers(payload.value);
      case "summary":
        return this.#compaction(payload.value, `${taskId}:${sequence}`);
      case "stateChange":
        return stateChunks(payload.value, state);
      case "usage": {
        // How full the context is. What was used in all is reported with the
        // end of the turn.
        const { contextTokens: used, contextWindowTokens: size } =
          payload.value;
        if (used === 0n || size === 0n) return [];
        return [
          {
            sessionUpdate: "usage_update",
            used: Number(used),
            size: Number(size),
          },
        ];
      }
      // These say nothing that the client does not know.
      case "created":
      case "messageQueued":
      case "messageTaken":
      case "messageWithdrawn":
      case "renamed":
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
   * Returns the updates that show a task from its beginning. Its artifacts come
   * last, because a task does not say when they were made.
   */
  ofTask(task: Task): SessionUpdate[] {
    const said = task.history.flatMap((message): SessionUpdate[] => {
      if (message.role === Role.USER) return userChunks(message);
      return message.parts.flatMap((part): SessionUpdate[] => {
        const { content } = part;
        if (content.case === "thought") return [thoughtChunk(content.value)];
        if (content.case === "toolCall") {
          return this.ofCall(content.value, task.id);
        }
        if (content.case === "summary") {
          return this.#compaction(content.value, message.messageId);
        }
        return messageChunks(blocksFromParts([part]));
      });
    });
    const made = task.artifacts.flatMap(({ parts }) =>
      messageChunks(blocksFromParts(parts)),
    );
    return [...said, ...made];
  }

  /**
   * Returns the updates that show a call as it is now: the whole call when it
   * is new, otherwise what changed.
   */
  ofCall(call: ToolCall, taskId: string): SessionUpdate[] {
    const key = JSON.stringify([taskId, call.toolCallId]);
    const view = callView(call, this.#workspace);
    const before = this.#calls.get(key);
    this.#calls.set(key, view);
    const plan = this.#newPlan(call);
    if (!before) return [{ sessionUpdate: "tool_call", ...view }, ...plan];
    const changes = changesOf(before, view);
    if (!changes) return [];
    return [
      {
        sessionUpdate: "tool_call_update",
        ...changes,
        toolCallId: view.toolCallId,
      },
      ...plan,
    ];
  }

  /** The plan that a call shows, unless the client has it already. */
  #newPlan(call: ToolCall): SessionUpdate[] {
    const plan = planOf(call);
    const json = JSON.stringify(plan);
    if (plan.length === 0 || json === this.#plan) return [];
    this.#plan = json;
    return plan;
  }

  /** Returns a call as a question shows it. */
  view(call: ToolCall): CallView {
    return callView(call, this.#workspace);
  }

  #notice({ text, attempt }: Notice): SessionUpdate[] {
    if (!this.#capabilities.session?.notices || text === "") return [];
    const [title = text, ...rest] = visibleText(text).split("\n");
    return [
      defined({
        sessionUpdate: "notice" as const,
        severity: attempt > 0 ? ("warning" as const) : ("info" as const),
        title: title || text,
        description: rest.join("\n") || undefined,
      }),
    ];
  }

  /**
   * Shows which MCP servers of the client cannot be used, where it shows no
   * notices, which say it too.
   */
  #missingServers({ mcpServers }: SessionTools): SessionUpdate[] {
    if (this.#capabilities.session?.notices) return [];
    const texts = mcpServers.flatMap(({ name, state, reason }) =>
      state === McpConnectionState.READY || !this.#brought.has(name)
        ? []
        : `${visibleText(reason || `MCP server ${JSON.stringify(name)} does not answer yet`)}. The session goes on without it.\n`,
    );
    return messageChunks(texts.map((text) => ({ type: "text", text })));
  }

  #compaction({ text }: Summary, compactionId: string): SessionUpdate[] {
    if (!this.#capabilities.session?.compaction) return [];
    const summary: ContentBlock[] = text === "" ? [] : [{ type: "text", text }];
    return [
      {
        sessionUpdate: "compaction_update",
        compactionId,
        status: "completed",
        summary,
      },
    ];
  }
}

function messageChunks(blocks: readonly ContentBlock[]): SessionUpdate[] {
  return blocks.map((content) => ({
    sessionUpdate: "agent_message_chunk",
    content,
  }));
}

function userChunks({ parts }: Message): SessionUpdate[] {
  return blocksFromParts(parts).map((content) => ({
    sessionUpdate: "user_message_chunk",
    content,
  }));
}

function thoughtChunk({ subject, description }: AgentThought): SessionUpdate {
  const heading = subject === "" ? "" : `**${subject}**\n`;
  return {
    sessionUpdate: "agent_thought_chunk",
    content: { type: "text", text: `${heading}${description}` },
  };
}

/**
 * The agent's words at the end of a turn. Errors are reported with the end of
 * the turn, and questions about calls by requests.
 */
function stateChunks(
  { text, openCalls }: StateChange,
  state: TaskState,
): SessionUpdate[] {
  const isSaid =
    state === TaskState.COMPLETED ||
    state === TaskState.REJECTED ||
    state === TaskState.INPUT_REQUIRED;
  return isSaid && text !== "" && openCalls.length === 0
    ? messageChunks([{ type: "text", text }])
    : [];
}

/** The plan that a call of `update_plan` shows; none for other calls. */
function planOf({ toolName, inputParameters }: ToolCall): SessionUpdate[] {
  const plan = toolName === "update_plan" ? inputParameters?.plan : undefined;
  if (!Array.isArray(plan)) return [];
  const entries = plan.flatMap((entry): PlanEntry[] => {
    if (!isObject(entry) || typeof entry.step !== "string") return [];
    const { step, status } = entry;
    const known =
      status === "in_progress" || status === "completed" ? status : "pending";
    return [{ content: step, priority: "medium", status: known }];
  });
  return [{ sessionUpdate: "plan", entries }];
}
