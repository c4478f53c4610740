import type { TaskItem, TaskSnapshot } from "@devtool/client";
import { isInterrupted, isTerminal, Role, TaskState, type ToolCall } from "@devtool/schema";
import { indented, type LineStyle, visible } from "../render/style.ts";
import { partLines } from "../render/transcript.ts";
import { callEntry, type Entry, entryOf, isFinished, runningLines, textLines, wrapLine } from "./entry.ts";
import { settledText } from "./markdown.ts";

/**
 * Divides a growing task into what is finished, which is printed once, and what is still changing.
 */
export class Scrollback {
  /** The number of items that were printed. */
  #items = 0;
  /** The number of characters of the next item, a text, that were printed. */
  #characters = 0;
  /** The fence of the code block of that text in which they end. Empty: they end with a block. */
  #fence = "";
  /** The end of a turn that was printed last. */
  #ended = "";
  readonly #artifacts = new Set<string>();
  /** The calls that were answered in this chat, which has printed the question and the answer. */
  readonly #answered = new Set<string>();

  /** Records that a call was answered in this chat. */
  noteAnswer(toolCallId: string): void {
    this.#answered.add(toolCallId);
  }

  /** Returns the entries to print now, each once. */
  advance(snapshot: TaskSnapshot, style: LineStyle): Entry[] {
    const { items } = snapshot;
    const entries: Entry[] = [];
    for (let item = items[this.#items]; item; item = items[this.#items]) {
      if (!isFinished(item, this.#items === items.length - 1, isAtRest(snapshot))) {
        entries.push(...this.#settled(item, style));
        break;
      }
      const entry = this.#restOf(item, style);
      if (entry && entry.lines.length > 0) entries.push(entry);
      this.#items++;
      this.#characters = 0;
      this.#fence = "";
    }
    return isAtRest(snapshot) ? [...entries, ...this.#endOf(snapshot, style)] : entries;
  }

  /** Returns the lines of what is not finished: the end of a text, calls that run. */
  live({ items }: TaskSnapshot, style: LineStyle): string[] {
    return items.slice(this.#items).flatMap((item, index) => {
      const { content } = item.part;
      if (content.case === "toolCall") {
        return content.value.confirmationRequest ? [] : runningLines(content.value, style);
      }
      if (content.case !== "text" || item.role === Role.USER) return this.#restOf(item, style)?.lines ?? [];
      if (index > 0 || this.#characters === 0) return textLines(content.value, "first", style);
      return textLines(this.#unprinted(content.value), "later", style);
    });
  }

  /** Returns what further text cannot change of a growing text. */
  #settled({ key, part }: TaskItem, style: LineStyle): Entry[] {
    if (part.content.case !== "text") return [];
    const rest = this.#unprinted(part.content.value);
    const { length, fence } = settledText(rest);
    if (length === 0) return [];
    const lines = textLines(rest.slice(0, length), this.#characters === 0 ? "first" : "later", style);
    // Code goes on without the blank line that follows a block.
    if (fence !== "") lines.pop();
    this.#characters += length - this.#opening.length;
    this.#fence = fence;
    return [{ key: `${key}/${this.#characters}`, lines }];
  }

  /** Returns what was not printed of a text, as Markdown of its own. */
  #unprinted(text: string): string {
    return this.#opening + text.slice(this.#characters);
  }

  /** The line that opens again the code block in which the printed characters end. */
  get #opening(): string {
    return this.#fence === "" ? "" : `${this.#fence}\n`;
  }

  #restOf(item: TaskItem, style: LineStyle): Entry | undefined {
    const { content } = item.part;
    if (content.case === "confirmation" && this.#answered.has(content.value.toolCallId)) return undefined;
    if (content.case === "toolCall" && this.#answered.has(content.value.toolCallId)) {
      return callEntry(item.key, withoutDiff(content.value), style);
    }
    if (this.#characters === 0 || content.case !== "text") return entryOf(item, style);
    return { key: item.key, lines: textLines(this.#unprinted(content.value), "later", style) };
  }

  /** Returns the results and the reason of the end of a turn. */
  #endOf({ task, items }: TaskSnapshot, { paint, columns }: LineStyle): Entry[] {
    const reason = reasonOf(task.state, task.error || task.stateText);
    const ended = `${task.id}/end/${items.length}/${task.artifacts.length}/${reason}`;
    if (ended === this.#ended) return [];
    this.#ended = ended;
    const artifacts = task.artifacts.filter(({ artifactId }) => !this.#artifacts.has(artifactId));
    const lines = artifacts.flatMap(({ artifactId, name, parts }) => {
      this.#artifacts.add(artifactId);
      const title = wrapLine(paint("dim", `· artifact: ${indented(name || artifactId)}`), columns);
      return [...title, ...partLines(parts).flatMap((line) => wrapLine(`    ${line}`, columns))];
    });
    const isBad = task.state === TaskState.FAILED || task.state === TaskState.REJECTED;
    if (reason !== "") lines.push(...wrapLine(paint(isBad ? "bad" : "dim", reason), columns));
    return lines.length === 0 ? [] : [{ key: ended, lines }];
  }
}

/** Returns a call without the diff that its question has shown. */
function withoutDiff(call: ToolCall): ToolCall {
  const isDiff = call.result.case === "output" && call.result.value.result.case === "diff";
  return isDiff ? { ...call, result: { case: undefined } } : call;
}

function isAtRest({ task: { state } }: TaskSnapshot): boolean {
  return isTerminal(state) || isInterrupted(state);
}

function reasonOf(state: TaskState, text: string): string {
  const reason = text === "" ? "" : `: ${indented(text)}`;
  switch (state) {
    case TaskState.FAILED:
      return `failed${reason}`;
    case TaskState.REJECTED:
      return `rejected${reason}`;
    case TaskState.CANCELED:
      return `canceled${reason}`;
    default:
      return text === "" ? "" : `· ${visible(text)}`;
  }
}
