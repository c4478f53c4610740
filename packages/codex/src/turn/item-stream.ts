import { create, type JsonObject } from "@bufbuild/protobuf";
import {
  ArtifactUpdateSchema,
  type FileDiff,
  keepStart,
  NoticeSchema,
  ToolOutputSchema,
  UsageSchema,
} from "@devtool/schema";
import {
  listOrEmpty,
  objectOrEmpty,
  stringOrEmpty,
} from "@devtool/schema/json";
import { type AgentEvent, quoted } from "@devtool/server/agent";
import { MCP_STATUS } from "../app-server/app-server.ts";
import type { CallBook } from "./call-book.ts";
import { type FileChange, fileDiffOf, readChanges } from "./file-change.ts";
import { callOfItem, endOfItem } from "./item-call.ts";
import { LiveOutput } from "./live-output.ts";
import { Reasoning } from "./reasoning.ts";

/** The maximum number of characters of a notice. */
const MAX_NOTICE_LENGTH = 2000;

/** Dependencies of `ItemStream`. */
export interface ItemStreamOptions {
  readonly calls: CallBook;
  /**
   * The thread of the conversation. Other threads are those of its sub-agents.
   */
  readonly threadId: string;
  /** An absolute path. */
  readonly workspace: string;
  /**
   * Begins a call: returns the events that publish it, under the id of its
   * item.
   */
  readonly begin: (
    itemId: string,
    call: { toolName: string; description: string; args: JsonObject },
  ) => AgentEvent[];
}

/**
 * The changes of a `fileChange` item, with the content of the file if it is one
 * that can be shown.
 */
export interface ProposedChanges {
  readonly changes: readonly FileChange[];
  readonly diff: FileDiff | undefined;
}

/** Translates a notification. */
type Handler = (
  stream: ItemStream,
  params: JsonObject,
) => AgentEvent[] | Promise<AgentEvent[]>;

/**
 * Translates the notifications about one turn of Codex to events of the agent.
 */
export class ItemStream {
  readonly #options: ItemStreamOptions;
  readonly #changes = new Map<string, ProposedChanges>();
  readonly #outputs = new Map<string, LiveOutput>();
  readonly #reasoning = new Reasoning();
  /** The items whose text arrived in pieces. */
  readonly #streamed = new Set<string>();
  /**
   * The id of the agent message whose text came last, if no call has begun or
   * ended since.
   */
  #speaker = "";
  #lastDiff = "";
  /** The types of items of which the user was told that they are left out. */
  readonly #told = new Set<string>();

  constructor(options: ItemStreamOptions) {
    this.#options = options;
  }

  /** Whether a command has output that was not shown yet. */
  get hasNewOutput(): boolean {
    return this.#outputs.values().some(({ isNew }) => isNew);
  }

  /** Returns the changes that a `fileChange` item proposes. */
  changesOf(itemId: string): ProposedChanges {
    return this.#changes.get(itemId) ?? { changes: [], diff: undefined };
  }

  /**
   * Returns the events of a notification; none for a notification that is not
   * translated.
   */
  async receive(method: string, params: JsonObject): Promise<AgentEvent[]> {
    const handler = HANDLERS.get(method);
    return handler ? handler(this, params) : [];
  }

  /**
   * Returns new versions of the calls with new output, at a time in
   * milliseconds.
   */
  showOutput(nowMs: number): AgentEvent[] {
    return [...this.#outputs].flatMap(([itemId, output]) => {
      const text = output.take(nowMs);
      return text === undefined ? [] : this.#options.calls.show(itemId, text);
    });
  }

  async itemStarted({ item: sent }: JsonObject): Promise<AgentEvent[]> {
    const item = objectOrEmpty(sent);
    const itemId = stringOrEmpty(item.id);
    const call = callOfItem(item);
    if (!call) {
      return item.type === "enteredReviewMode"
        ? notice("Codex begins a review.")
        : [];
    }
    this.#speaker = "";
    if (item.type === "fileChange") await this.#keepChanges(itemId, item);
    const begun = this.#options.begin(itemId, call);
    // A command that has a process runs. Without one it may still ask; the
    // others ask before they start, if at all.
    const asksFirst =
      item.type === "fileChange" ||
      (item.type === "commandExecution" && !item.processId);
    return asksFirst ? begun : [...begun, ...this.#options.calls.run(itemId)];
  }

  async itemCompleted(params: JsonObject): Promise<AgentEvent[]> {
    const item = objectOrEmpty(params.item);
    const itemId = stringOrEmpty(item.id);
    switch (item.type) {
      case "agentMessage":
        return this.#streamed.has(itemId)
          ? []
          : this.#say(params, itemId, stringOrEmpty(item.text));
      case "reasoning":
        return this.#endReasoning(params, item);
      case "plan":
        return artifact(`plan-${itemId}`, "Plan", {
          text: stringOrEmpty(item.text),
          mediaType: "text/markdown",
        });
      case "exitedReviewMode":
        return this.#say(params, itemId, stringOrEmpty(item.review));
      case "contextCompaction":
        return notice("Codex summarized the conversation for its model.");
      case "subAgentActivity":
        return notice(
          `Codex's agent ${stringOrEmpty(item.agentPath)} ${stringOrEmpty(item.kind)}.`,
        );
    }
    const call = callOfItem(item);
    if (!call) return this.#leaveOut(stringOrEmpty(item.type));
    this.#speaker = "";
    this.#outputs.delete(itemId);
    const known = this.#options.calls.find(itemId);
    const begun = known ? [] : this.#options.begin(itemId, call);
    const end = endOfItem(item);
    const diff = this.#changes.get(itemId)?.diff;
    if (end.result.case !== "output" || !diff) {
      return [...begun, ...this.#options.calls.end(itemId, end)];
    }
    const value = create(ToolOutputSchema, {
      result: { case: "diff", value: diff },
    });
    return [
      ...begun,
      ...this.#options.calls.end(itemId, {
        ...end,
        result: { case: "output", value },
      }),
    ];
  }

  /** Tells the user once of items of a type that is new. */
  #leaveOut(type: string): AgentEvent[] {
    if (UNSHOWN.has(type) || this.#told.has(type)) return [];
    this.#told.add(type);
    return notice(
      `Codex did something of the type ${quoted(type)}, which cannot be shown: it is left out.`,
    );
  }

  messageDelta(params: JsonObject): AgentEvent[] {
    const itemId = stringOrEmpty(params.itemId);
    this.#streamed.add(itemId);
    return this.#say(params, itemId, stringOrEmpty(params.delta));
  }

  thoughtDelta(params: JsonObject): AgentEvent[] {
    this.#reasoning.append(params);
    return [];
  }

  outputDelta({ itemId, delta }: JsonObject): AgentEvent[] {
    const id = stringOrEmpty(itemId);
    if (!this.#options.calls.find(id)) return [];
    const output = this.#outputs.get(id) ?? new LiveOutput();
    this.#outputs.set(id, output);
    output.push(stringOrEmpty(delta));
    return [];
  }

  mcpProgress({ itemId, message }: JsonObject): AgentEvent[] {
    return this.#options.calls.show(
      stringOrEmpty(itemId),
      stringOrEmpty(message),
    );
  }

  async patchUpdated({ itemId, changes }: JsonObject): Promise<AgentEvent[]> {
    await this.#keepChanges(stringOrEmpty(itemId), { changes: changes ?? [] });
    return [];
  }

  planUpdated({ turnId, explanation, plan }: JsonObject): AgentEvent[] {
    const data = { explanation: explanation ?? null, plan: listOrEmpty(plan) };
    return artifact(`plan-${stringOrEmpty(turnId)}`, "Plan", { data });
  }

  diffUpdated({ turnId, diff, threadId }: JsonObject): AgentEvent[] {
    const text = stringOrEmpty(diff);
    if (
      threadId !== this.#options.threadId ||
      text === "" ||
      text === this.#lastDiff
    ) {
      return [];
    }
    this.#lastDiff = text;
    return artifact(`diff-${stringOrEmpty(turnId)}`, "Changes of the turn", {
      text,
      mediaType: "text/x-diff",
    });
  }

  usage({ tokenUsage }: JsonObject): AgentEvent[] {
    const { last: lastUsage, modelContextWindow } = objectOrEmpty(tokenUsage);
    const last = objectOrEmpty(lastUsage);
    const value = create(UsageSchema, {
      inputTokens: tokenCount(last.inputTokens),
      cachedTokens: tokenCount(last.cachedInputTokens),
      outputTokens: tokenCount(last.outputTokens),
      thoughtTokens: tokenCount(last.reasoningOutputTokens),
      contextTokens: tokenCount(last.totalTokens),
      contextWindowTokens: tokenCount(modelContextWindow),
    });
    return [{ case: "usage", value }];
  }

  /**
   * Returns a piece of the answer. Each message begins a paragraph. Messages of
   * sub-agents are not part of the answer.
   */
  #say({ threadId }: JsonObject, itemId: string, text: string): AgentEvent[] {
    if (threadId !== this.#options.threadId || text === "") return [];
    const isNext = this.#speaker !== "" && this.#speaker !== itemId;
    this.#speaker = itemId;
    return [{ case: "text", value: isNext ? `\n\n${text}` : text }];
  }

  #endReasoning({ threadId }: JsonObject, item: JsonObject): AgentEvent[] {
    const thoughts = this.#reasoning.end(item);
    // What sub-agents think is not part of the turn.
    return threadId === this.#options.threadId
      ? thoughts.map((value) => ({ case: "thought", value }))
      : [];
  }

  async #keepChanges(itemId: string, item: JsonObject): Promise<void> {
    const changes = readChanges(item.changes);
    const [only, ...others] = changes;
    const diff =
      only && others.length === 0
        ? await fileDiffOf(only, this.#options.workspace)
        : undefined;
    this.#changes.set(itemId, { changes, diff });
  }
}

/** The types of items that are shown by their beginning, or not at all. */
const UNSHOWN: ReadonlySet<string> = new Set([
  "enteredReviewMode",
  "functionCallOutput",
  "hookPrompt",
  "userMessage",
]);

const HANDLERS: ReadonlyMap<string, Handler> = new Map<string, Handler>([
  ["item/started", (stream, params) => stream.itemStarted(params)],
  ["item/completed", (stream, params) => stream.itemCompleted(params)],
  ["item/agentMessage/delta", (stream, params) => stream.messageDelta(params)],
  [
    "item/reasoning/summaryTextDelta",
    (stream, params) => stream.thoughtDelta(params),
  ],
  [
    "item/commandExecution/outputDelta",
    (stream, params) => stream.outputDelta(params),
  ],
  ["item/mcpToolCall/progress", (stream, params) => stream.mcpProgress(params)],
  [
    "item/fileChange/patchUpdated",
    (stream, params) => stream.patchUpdated(params),
  ],
  ["turn/plan/updated", (stream, params) => stream.planUpdated(params)],
  ["turn/diff/updated", (stream, params) => stream.diffUpdated(params)],
  ["thread/tokenUsage/updated", (stream, params) => stream.usage(params)],
  ["warning", (_stream, { message }) => notice(stringOrEmpty(message))],
  ["guardianWarning", (_stream, { message }) => notice(stringOrEmpty(message))],
  ["configWarning", (_stream, { summary }) => notice(stringOrEmpty(summary))],
  [
    MCP_STATUS,
    (_stream, { name, status, error }) =>
      status === "failed"
        ? notice(
            `Codex's MCP server ${quoted(stringOrEmpty(name))} cannot be used: ${stringOrEmpty(error) || "it did not start"}`,
          )
        : [],
  ],
  [
    "model/rerouted",
    (_stream, { toModel }) =>
      notice(`Codex now uses the model ${stringOrEmpty(toModel)}.`),
  ],
  [
    "error",
    (_stream, { error, willRetry }) =>
      willRetry === true ? notice(errorText(error)) : [],
  ],
]);

/** The notifications that become events of the agent. */
export const CARRIED_NOTIFICATIONS: readonly string[] = [...HANDLERS.keys()];

/** Returns the text of a turn's error: its message and its kind. */
export function errorText(error: unknown): string {
  const { message, codexErrorInfo } = objectOrEmpty(error);
  const kind =
    typeof codexErrorInfo === "string"
      ? codexErrorInfo
      : Object.keys(objectOrEmpty(codexErrorInfo))[0];
  return kind === undefined || kind === "other"
    ? stringOrEmpty(message)
    : `${stringOrEmpty(message)} (${kind})`;
}

function notice(text: string): AgentEvent[] {
  if (text === "") return [];
  return [
    {
      case: "notice",
      value: create(NoticeSchema, { text: keepStart(text, MAX_NOTICE_LENGTH) }),
    },
  ];
}

function artifact(
  artifactId: string,
  name: string,
  content: { data: JsonObject } | { text: string; mediaType: string },
): AgentEvent[] {
  const part =
    "data" in content
      ? { content: { case: "data" as const, value: content.data } }
      : {
          content: { case: "text" as const, value: content.text },
          mediaType: content.mediaType,
        };
  return [
    {
      case: "artifact",
      value: create(ArtifactUpdateSchema, {
        artifact: { artifactId, name, parts: [part] },
      }),
    },
  ];
}

function tokenCount(value: unknown): bigint {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0
    ? BigInt(value)
    : 0n;
}
