import type { TaskItem, TaskSnapshot } from "@devtool/client";
import { isAtRest, Role, TaskState } from "@devtool/schema";
import { type LineStyle, visible } from "../render/style.ts";
import { outcomeText } from "../render/transcript.ts";
import { ArtifactLines } from "./artifact-lines.ts";
import {
  callEntry,
  type Entry,
  entryOf,
  isFinished,
  runningLines,
  textLines,
  wrapLine,
} from "./entry.ts";
import { settledText } from "./settled-text.ts";

/**
 * Divides a growing task into finished parts, which are printed once, and parts
 * that still change.
 */
export class Scrollback {
  /** The number of items that were printed. */
  #items = 0;
  /** The number of characters of the next item, a text, that were printed. */
  #characters = 0;
  /**
   * The Markdown that belongs before the rest of that text: the fence or the
   * head of the block in which they end.
   */
  #opening = "";
  /** The end of a turn that was printed last. */
  #ended = "";
  readonly #artifacts = new ArtifactLines();
  /** The number of times that lines of artifacts were printed. */
  #artifactEntries = 0;
  /**
   * The calls that were answered in this chat: whether it has printed the
   * question and the answer, and whether what they do is what the question
   * showed.
   */
  readonly #answered = new Map<string, "as asked" | "edited" | "unprinted">();

  /** Records that a call was answered in this chat. */
  noteAnswer(
    toolCallId: string,
    how: "as asked" | "edited" | "unprinted",
  ): void {
    this.#answered.set(toolCallId, how);
  }

  /** Returns the entries to print now, each once. */
  advance(snapshot: TaskSnapshot, style: LineStyle): Entry[] {
    const { items } = snapshot;
    const entries: Entry[] = [];
    for (let item = items[this.#items]; item; item = items[this.#items]) {
      if (!isFinished(item, snapshot)) {
        entries.push(...this.#settled(item, style));
        break;
      }
      const entry = this.#restOf(item, style);
      if (entry && entry.lines.length > 0) entries.push(entry);
      this.#items++;
      this.#characters = 0;
      this.#opening = "";
    }
    if (entries.length > 0) this.#artifacts.interrupt();
    const lines = this.#artifacts.advance(snapshot, style);
    if (lines.length > 0) {
      entries.push({ key: `artifacts ${this.#artifactEntries++}`, lines });
    }
    return isAtRest(snapshot.task.state)
      ? [...entries, ...this.#endOf(snapshot, style)]
      : entries;
  }

  /**
   * Returns the lines of the unfinished parts: the end of a text, running
   * calls, the ends of artifacts.
   */
  live(snapshot: TaskSnapshot, style: LineStyle): string[] {
    const unfinished = this.#artifacts.live(snapshot, style);
    return [...this.#liveItems(snapshot, style), ...unfinished];
  }

  #liveItems({ items }: TaskSnapshot, style: LineStyle): string[] {
    return items.slice(this.#items).flatMap((item, index) => {
      const { content } = item.part;
      if (content.case === "toolCall") {
        return content.value.confirmationRequest
          ? []
          : runningLines(content.value, style);
      }
      if (content.case !== "text" || item.role === Role.USER) {
        return this.#restOf(item, style)?.lines ?? [];
      }
      if (index > 0 || this.#characters === 0) {
        return textLines(content.value, "first", style);
      }
      return textLines(this.#unprinted(content.value), "later", style);
    });
  }

  /**
   * Returns the beginning of a growing text that further text cannot change.
   */
  #settled({ key, part }: TaskItem, style: LineStyle): Entry[] {
    if (part.content.case !== "text") return [];
    const rest = this.#unprinted(part.content.value);
    const { length, opening, isInBlock } = settledText(rest);
    if (length === 0) return [];
    const lines = textLines(
      rest.slice(0, length),
      this.#characters === 0 ? "first" : "later",
      style,
    );
    // The block goes on without the blank line that follows a block.
    if (isInBlock) lines.pop();
    this.#characters += length - this.#opening.length;
    this.#opening = opening;
    return [{ key: `${key}/${this.#characters}`, lines }];
  }

  /**
   * Returns the rest of a text that was not printed, as Markdown of its own.
   */
  #unprinted(text: string): string {
    return this.#opening + text.slice(this.#characters);
  }

  #restOf(item: TaskItem, style: LineStyle): Entry | undefined {
    const { content } = item.part;
    if (
      content.case === "confirmation" &&
      (this.#answered.get(content.value.toolCallId) ?? "unprinted") !==
        "unprinted"
    ) {
      return undefined;
    }
    if (
      content.case === "toolCall" &&
      this.#answered.has(content.value.toolCallId)
    ) {
      const call = content.value;
      // The question of the call has shown its diff.
      const isDiff =
        this.#answered.get(call.toolCallId) === "as asked" &&
        call.result.case === "output" &&
        call.result.value.result.case === "diff";
      return callEntry(
        item.key,
        isDiff ? { ...call, result: { case: undefined } } : call,
        style,
      );
    }
    if (this.#characters === 0 || content.case !== "text") {
      return entryOf(item, style);
    }
    return {
      key: item.key,
      lines: textLines(this.#unprinted(content.value), "later", style),
    };
  }

  /** Returns the reason of the end of a turn. */
  #endOf(
    { task, items }: TaskSnapshot,
    { paint, columns }: LineStyle,
  ): Entry[] {
    const text = task.error || task.stateText;
    const reason =
      outcomeText(task.state, text) ??
      (text === "" ? "" : `· ${visible(text)}`);
    const ended = `${task.id}/end/${items.length}/${task.artifacts.length}/${reason}`;
    if (ended === this.#ended) return [];
    this.#ended = ended;
    if (reason === "") return [];
    const isBad =
      task.state === TaskState.FAILED || task.state === TaskState.REJECTED;
    const lines = wrapLine(paint(isBad ? "bad" : "dim", reason), columns);
    return [{ key: ended, lines }];
  }
}
