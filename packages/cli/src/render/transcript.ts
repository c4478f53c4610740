import { type TaskEvent, TaskState, type ToolCall, ToolCallStatus } from "@devtool/schema";
import { type Paint, visible } from "./style.ts";
import { resultLines, toolCallLine } from "./tool-call.ts";

/** Turns the events of a task into text for a person, one after the other. */
export class Transcript {
  readonly #paint: Paint;
  /** How much of a running call's output was shown. */
  readonly #shown = new Map<string, string>();
  #inText = false;

  constructor(paint: Paint) {
    this.#paint = paint;
  }

  /** The text that an event adds; empty when there is nothing to show. */
  add({ payload, state }: TaskEvent): string {
    switch (payload.case) {
      case "text":
        this.#inText = true;
        return visible(payload.value.text);
      case "thought": {
        const { subject, description } = payload.value;
        return this.#lines([this.#paint("dim", `… ${visible(`${subject}: ${description}`)}`)]);
      }
      case "toolCall":
        return this.#lines(this.#callLines(payload.value));
      case "stateChange":
        return (
          this.#closeText() + this.#lines(stateLines(payload.value.error || payload.value.text, state, this.#paint))
        );
      default:
        return "";
    }
  }

  #callLines(call: ToolCall): string[] {
    if (call.status === ToolCallStatus.PENDING) return [];
    if (call.status === ToolCallStatus.EXECUTING) return this.#liveLines(call);
    const live = this.#shown.has(call.toolCallId);
    this.#shown.delete(call.toolCallId);
    return [
      toolCallLine(call, this.#paint),
      ...(live && call.status === ToolCallStatus.SUCCEEDED ? [] : resultLines(call, this.#paint)),
    ];
  }

  /** The output since the last time; where its beginning was cut, all of it. */
  #liveLines(call: ToolCall): string[] {
    if (call.liveContent === undefined) return [toolCallLine(call, this.#paint)];
    const before = this.#shown.get(call.toolCallId) ?? "";
    this.#shown.set(call.toolCallId, call.liveContent);
    const fresh = call.liveContent.startsWith(before) ? call.liveContent.slice(before.length) : call.liveContent;
    return fresh.trimEnd() === ""
      ? []
      : visible(fresh.trimEnd())
          .split("\n")
          .map((line) => `    ${this.#paint("dim", line)}`);
  }

  /** Puts lines below text that was left open. */
  #lines(lines: readonly string[]): string {
    return lines.length === 0 ? "" : `${this.#closeText()}${lines.join("\n")}\n`;
  }

  /** The end of the line that text left open. */
  #closeText(): string {
    const open = this.#inText;
    this.#inText = false;
    return open ? "\n" : "";
  }
}

function stateLines(text: string, state: TaskState, paint: Paint): string[] {
  const said = text === "" ? "" : `: ${visible(text)}`;
  switch (state) {
    case TaskState.FAILED:
      return [paint("bad", `failed${said}`)];
    case TaskState.CANCELED:
      return [paint("dim", `canceled${said}`)];
    default:
      return text === "" ? [] : [visible(text)];
  }
}
