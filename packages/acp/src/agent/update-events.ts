import { create, type JsonObject } from "@bufbuild/protobuf";
import { isObject, listOrEmpty, stringOrEmpty } from "@devtool/internal/json";
import {
  AgentThoughtSchema,
  ArtifactSchema,
  ArtifactUpdateSchema,
  NoticeSchema,
  type Part,
  PartSchema,
  structFromJson,
  UsageSchema,
} from "@devtool/schema";
import {
  type AgentEvent,
  type CallUpdate,
  quoted,
} from "@devtool/server/agent";
import type { CallBook } from "./call-book.ts";
import { blockOf, fileOfBlock, isUsableBlock, textOfBlock } from "./content.ts";

/**
 * The maximum length of a thought, in characters; a longer one becomes several.
 */
const MAX_THOUGHT_LENGTH = 64 * 1024;
/** The maximum number of things that a user is told to be left out. */
const MAX_TOLD = 32;
/** The id of the artifact that holds the agent's plan. */
const PLAN = "plan";

/**
 * Translates the `session/update` notifications of one turn into `AgentEvent`s.
 */
export class UpdateEvents {
  readonly #book: CallBook;
  readonly #told: Set<string>;
  #thought = "";
  #files = 0;
  #usedTokens: number | undefined;
  /** The plan that was shown last, as JSON. */
  #plan = "";

  /**
   * @param told what the user was told in the conversation about what cannot be
   * shown
   */
  constructor(book: CallBook, told: Set<string>) {
    this.#book = book;
    this.#told = told;
  }

  /**
   * Yields the events of an update. The caller must consume them before the
   * next one.
   */
  *of(update: JsonObject): Generator<AgentEvent> {
    const kind = stringOrEmpty(update.sessionUpdate);
    if (kind === "agent_thought_chunk") {
      for (const block of yield* this.#usable(update.content)) {
        yield* this.#think(textOfBlock(block));
      }
      return;
    }
    yield* this.flush();
    switch (kind) {
      case "agent_message_chunk":
        for (const block of yield* this.#usable(update.content)) {
          yield* this.#content(block);
        }
        return;
      case "tool_call":
      case "tool_call_update": {
        const id = this.#book.update(update);
        if (id !== undefined) {
          const status = stringOrEmpty(update.status);
          yield* calls(this.#book.call(id).withStatus(status));
        } else if (stringOrEmpty(update.toolCallId) === "") {
          yield* this.#leaveOut("a call without an id");
        }
        return;
      }
      case "plan": {
        const sent = listOrEmpty(update.entries);
        const entries = sent.filter(isObject);
        if (entries.length < sent.length || !Array.isArray(update.entries)) {
          yield* this.#leaveOut("a part of a plan");
        }
        const value = structFromJson({ entries });
        const part = create(PartSchema, { content: { case: "data", value } });
        if (JSON.stringify(value) === this.#plan) return;
        this.#plan = JSON.stringify(value);
        return yield artifact(PLAN, "Plan", part, "replace");
      }
      case "usage_update":
        return yield* this.#usage(update);
      case "notice":
        return yield notice(
          [update.title, update.description]
            .map(stringOrEmpty)
            .filter(Boolean)
            .join(": "),
        );
      case "current_mode_update":
        return yield notice(
          `The agent is in mode ${JSON.stringify(stringOrEmpty(update.currentModeId))}.`,
        );
      case "compaction_update":
        if (update.status === "completed") {
          yield notice("The agent summarized the conversation.");
        }
        if (update.status === "failed") {
          yield notice(
            `The agent could not summarize the conversation: ${stringOrEmpty(update.error)}`,
          );
        }
        return;
      // Not shown: our own messages, the state of the session, and the text of
      // a summary, which only the agent needs.
      case "user_message_chunk":
      case "available_commands_update":
      case "config_option_update":
      case "session_info_update":
      case "compaction_summary_chunk":
        return;
      default:
        yield* this.#leaveOut(`an update of the kind ${quoted(kind)}`);
    }
  }

  /**
   * Returns the content blocks that can be shown: mostly there is one. Tells
   * the user of the others.
   */
  *#usable(content: unknown): Generator<AgentEvent, JsonObject[]> {
    const blocks = [content].flat().map(blockOf);
    for (const { type } of blocks.filter((block) => !isUsableBlock(block))) {
      yield* this.#leaveOut(
        `content of the type ${quoted(stringOrEmpty(type))}`,
      );
    }
    return blocks.filter(isUsableBlock);
  }

  /** Tells the user once that something is left out. */
  *#leaveOut(what: string): Generator<AgentEvent> {
    if (this.#told.has(what) || this.#told.size >= MAX_TOLD) return;
    this.#told.add(what);
    yield notice(
      `The agent sent ${what}, which cannot be shown: it is left out.`,
    );
  }

  /** Adds a piece of a thought. Yields the thought before, if this begins one. */
  *#think(piece: string): Generator<AgentEvent> {
    const beginsAnother =
      /^\s*\*\*/.test(piece) ||
      this.#thought.length + piece.length > MAX_THOUGHT_LENGTH;
    if (beginsAnother) yield* this.flush();
    this.#thought += piece;
  }

  /** Yields the thought that was still growing. */
  *flush(): Generator<AgentEvent> {
    const text = this.#thought;
    this.#thought = "";
    if (text.trim() === "") return;
    // Agents begin a thought with its subject: `**Subject** description`.
    const [, subject = "", description = text] =
      /^\s*\*\*(.+?)\*\*\s*([\s\S]*)$/.exec(text) ?? [];
    const value = create(AgentThoughtSchema, {
      subject,
      description: description.trim(),
    });
    yield { case: "thought", value };
  }

  *#content(block: JsonObject): Generator<AgentEvent> {
    const file =
      block.type === "resource_link" ? undefined : fileOfBlock(block);
    const text = textOfBlock(block);
    if (file) {
      yield artifact(`file-${++this.#files}`, "", file, "replace");
    } else if (text !== "") {
      yield { case: "text", value: text };
    }
  }

  /**
   * ACP reports how full the context is; the log records what each step added,
   * too.
   */
  *#usage({ used, size }: JsonObject): Generator<AgentEvent> {
    if (!isCount(used)) return;
    const added = used - (this.#usedTokens ?? 0);
    this.#usedTokens = used;
    if (added === 0) return;
    const inputTokens = BigInt(Math.max(added, 0));
    const contextWindowTokens = isCount(size) ? BigInt(size) : 0n;
    const value = create(UsageSchema, {
      inputTokens,
      contextTokens: BigInt(used),
      contextWindowTokens,
    });
    yield { case: "usage", value };
  }
}

function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}

/** Creates the event of a message to the user about the work itself. */
export function notice(text: string): AgentEvent {
  return { case: "notice", value: create(NoticeSchema, { text }) };
}

/**
 * Creates the event of new versions of calls; none when there are no versions.
 */
export function* calls(value: readonly CallUpdate[]): Generator<AgentEvent> {
  if (value.length > 0) yield { case: "toolCalls", value };
}

function artifact(
  artifactId: string,
  name: string,
  part: Part,
  how: "append" | "replace",
): AgentEvent {
  const value = create(ArtifactUpdateSchema, {
    artifact: create(ArtifactSchema, { artifactId, name, parts: [part] }),
    append: how === "append",
    lastChunk: true,
  });
  return { case: "artifact", value };
}
