import { create, type JsonObject } from "@bufbuild/protobuf";
import { keepStart } from "@devtool/internal/cut-text";
import { isObject, objectOrEmpty, stringOrEmpty } from "@devtool/internal/json";
import {
  ArtifactUpdateSchema,
  type FileDiff,
  NoticeSchema,
  ToolOutputSchema,
  UsageSchema,
} from "@devtool/schema";
import { type AgentEvent, quoted } from "@devtool/server/agent";
import { MCP_STATUS } from "../app-server/app-server.ts";
import type { CallBook } from "./call-book.ts";
import { type FileChange, fileDiffOf, readChanges } from "./file-change.ts";
import { callOfItem, endOfItem } from "./item-call.ts";
import { LiveOutput } from "./live-output.ts";
import { elementsOf, errorText, wordsOf } from "./odd-value.ts";
import { Reasoning } from "./reasoning.ts";

/** The maximum number of characters of a notice. */
const MAX_NOTICE_LENGTH = 2000;
/** The maximum number of things that a user is told to be left out. */
const MAX_TOLD = 32;

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
  /** What the user was told to be left out. */
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
    const content = CONTENT.get(method);
    if (content !== undefined && (params[content] ?? undefined) === undefined) {
      return this.leaveOut(`sent ${method} without "${content}"`);
    }
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
    if (item.type === "enteredReviewMode") {
      return notice("Codex begins a review.");
    }
    // A call whose id is missing begins when it ends.
    if (!call || itemId === "") return [];
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
        return this.#streamed.delete(itemId)
          ? []
          : this.#say(params, itemId, wordsOf(item.text));
      case "reasoning":
        return this.#endReasoning(params, item);
      case "plan":
        return artifact(`plan-${itemId}`, "Plan", {
          text: wordsOf(item.text),
          mediaType: "text/markdown",
        });
      case "exitedReviewMode":
        return this.#say(params, itemId, wordsOf(item.review));
      case "contextCompaction":
        return notice("Codex summarized the conversation for its model.");
      case "subAgentActivity":
        return notice(
          `Codex's agent ${wordsOf(item.agentPath)} ${wordsOf(item.kind)}.`,
        );
    }
    const call = callOfItem(item);
    if (!call) {
      const type = wordsOf(item.type);
      return UNSHOWN.has(type)
        ? []
        : this.leaveOut(`did something of the type ${quoted(type)}`);
    }
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

  /** Tells the user once of what Codex did that cannot be shown. */
  leaveOut(what: string): AgentEvent[] {
    if (this.#told.has(what) || this.#told.size >= MAX_TOLD) return [];
    this.#told.add(what);
    return notice(`Codex ${what}, which cannot be shown: it is left out.`);
  }

  /** Returns the thoughts whose end did not come. */
  flush(): AgentEvent[] {
    return this.#reasoning.rest().map((value) => ({ case: "thought", value }));
  }

  messageDelta(params: JsonObject): AgentEvent[] {
    const itemId = stringOrEmpty(params.itemId);
    this.#streamed.add(itemId);
    return this.#say(params, itemId, wordsOf(params.delta));
  }

  thoughtDelta(params: JsonObject): AgentEvent[] {
    // What sub-agents think is not part of the turn.
    if (this.#isOwn(params)) this.#reasoning.append(params);
    return [];
  }

  outputDelta({ itemId, delta }: JsonObject): AgentEvent[] {
    const id = stringOrEmpty(itemId);
    if (!this.#options.calls.find(id)) return [];
    const output = this.#outputs.get(id) ?? new LiveOutput();
    this.#outputs.set(id, output);
    output.push(wordsOf(delta));
    return [];
  }

  mcpProgress({ itemId, message }: JsonObject): AgentEvent[] {
    const { calls } = this.#options;
    const id = stringOrEmpty(itemId);
    return calls.find(id)
      ? calls.show(id, wordsOf(message))
      : notice(wordsOf(message));
  }

  async patchUpdated(params: JsonObject): Promise<AgentEvent[]> {
    const itemId = stringOrEmpty(params.itemId);
    if (itemId !== "") {
      await this.#keepChanges(itemId, params);
      return [];
    }
    // Nobody approves changes that may have become others since.
    this.#changes.clear();
    return this.leaveOut("sent changes without the id of their item");
  }

  planUpdated({ turnId, explanation, plan }: JsonObject): AgentEvent[] {
    const steps = elementsOf(plan);
    const data = {
      explanation: explanation ?? null,
      plan: steps.filter(isObject),
    };
    return [
      ...(steps.every(isObject) ? [] : this.leaveOut("sent a step of a plan")),
      ...artifact(`plan-${stringOrEmpty(turnId)}`, "Plan", { data }),
    ];
  }

  diffUpdated(params: JsonObject): AgentEvent[] {
    const text = wordsOf(params.diff);
    if (!this.#isOwn(params) || text === "" || text === this.#lastDiff) {
      return [];
    }
    this.#lastDiff = text;
    return artifact(
      `diff-${stringOrEmpty(params.turnId)}`,
      "Changes of the turn",
      {
        text,
        mediaType: "text/x-diff",
      },
    );
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
  #say(params: JsonObject, itemId: string, text: string): AgentEvent[] {
    if (!this.#isOwn(params) || text === "") return [];
    const isNext = this.#speaker !== "" && this.#speaker !== itemId;
    this.#speaker = itemId;
    return [{ case: "text", value: isNext ? `\n\n${text}` : text }];
  }

  #endReasoning(params: JsonObject, item: JsonObject): AgentEvent[] {
    if (!this.#isOwn(params)) return [];
    return this.#reasoning
      .end(item)
      .map((value) => ({ case: "thought", value }));
  }

  /** Whether something is about the conversation, and not a sub-agent. */
  #isOwn({ threadId }: JsonObject): boolean {
    return typeof threadId !== "string" || threadId === this.#options.threadId;
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

const HANDLERS: ReadonlyMap<string, Handler> = new Map(
  Object.entries<Handler>({
    "item/started": (stream, params) => stream.itemStarted(params),
    "item/completed": (stream, params) => stream.itemCompleted(params),
    "item/agentMessage/delta": (stream, params) => stream.messageDelta(params),
    "item/reasoning/summaryTextDelta": (stream, params) =>
      stream.thoughtDelta(params),
    "item/commandExecution/outputDelta": (stream, params) =>
      stream.outputDelta(params),
    "item/mcpToolCall/progress": (stream, params) => stream.mcpProgress(params),
    "item/fileChange/patchUpdated": (stream, params) =>
      stream.patchUpdated(params),
    "turn/plan/updated": (stream, params) => stream.planUpdated(params),
    "turn/diff/updated": (stream, params) => stream.diffUpdated(params),
    "thread/tokenUsage/updated": (stream, params) => stream.usage(params),
    warning: (_stream, { message }) => notice(wordsOf(message)),
    guardianWarning: (_stream, { message }) => notice(wordsOf(message)),
    configWarning: (_stream, { summary }) => notice(wordsOf(summary)),
    [MCP_STATUS]: (_stream, { name, status, error }) =>
      status === "failed" || wordsOf(error) !== ""
        ? notice(
            `Codex's MCP server ${quoted(wordsOf(name))} cannot be used: ${wordsOf(error) || "it did not start"}`,
          )
        : [],
    "model/rerouted": (_stream, { toModel }) =>
      notice(`Codex now uses the model ${wordsOf(toModel)}.`),
    error: (_stream, { error, willRetry }) =>
      willRetry === false ? [] : notice(errorText(error)),
  }),
);

/** What each of these notifications has nothing to show without. */
const CONTENT: ReadonlyMap<string, string> = new Map([
  ["item/started", "item"],
  ["item/completed", "item"],
  ["item/agentMessage/delta", "delta"],
  ["item/reasoning/summaryTextDelta", "delta"],
  ["item/commandExecution/outputDelta", "delta"],
  ["item/mcpToolCall/progress", "message"],
  ["turn/plan/updated", "plan"],
  ["turn/diff/updated", "diff"],
  ["thread/tokenUsage/updated", "tokenUsage"],
  ["warning", "message"],
  ["guardianWarning", "message"],
  ["configWarning", "summary"],
  [MCP_STATUS, "name"],
  ["model/rerouted", "toModel"],
  ["error", "error"],
]);

/** The notifications that become events of the agent. */
export const CARRIED_NOTIFICATIONS: readonly string[] = [...HANDLERS.keys()];

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
