import { toJsonString } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import {
  type ArtifactUpdate,
  type Citation,
  type File,
  type Part,
  type TaskEvent,
  TaskState,
  type ToolCall,
  ToolCallStatus,
} from "@devtool/schema";
import { type Paint, visible } from "./style.ts";
import { outputLines, resultLines, toolCallLine } from "./tool-call.ts";

/** Renders the events of a task as text for the terminal. */
export class Transcript {
  readonly #paint: Paint;
  /** The output of running calls that has been printed. */
  readonly #shown = new Map<string, string>();
  /** The running calls whose first line has been printed. */
  readonly #begun = new Set<string>();
  #inText = false;

  constructor(paint: Paint) {
    this.#paint = paint;
  }

  /** Returns the text to print for an event; empty when there is none. */
  add({ payload, state }: TaskEvent): string {
    switch (payload.case) {
      case "text":
        this.#inText = true;
        return visible(payload.value.text);
      case "thought": {
        const { subject, description } = payload.value;
        return this.#lines([this.#paint("dim", `… ${indented(`${subject}: ${description}`)}`)]);
      }
      case "toolCall":
        return this.#lines(this.#callLines(payload.value));
      case "stateChange":
        return (
          this.#closeText() + this.#lines(stateLines(payload.value.error || payload.value.text, state, this.#paint))
        );
      case "notice":
        return this.#lines([this.#paint("dim", `· ${indented(payload.value.text)}`)]);
      case "summary":
        return this.#lines([this.#paint("dim", "· the earlier conversation was summarized")]);
      case "citation":
        return this.#lines([this.#paint("dim", `· source: ${indented(sourceOf(payload.value))}`)]);
      case "artifact":
        return this.#lines(artifactLines(payload.value, this.#paint));
      case "reply":
        return this.#lines(partLines(payload.value.parts));
      case "messageQueued":
        return this.#lines([this.#paint("dim", "· the message is queued until the agent takes it")]);
      case "messageWithdrawn":
        return this.#lines([this.#paint("dim", "· a queued message was withdrawn")]);
      case "created":
      case "message":
      case "messageTaken":
      case "usage":
      case undefined:
        return "";
      default:
        return payload satisfies never;
    }
  }

  /** Returns a line of the program itself, for printing between events. */
  line(text: string): string {
    return this.#lines([text]);
  }

  #callLines(call: ToolCall): string[] {
    if (call.status === ToolCallStatus.PENDING) return [];
    if (call.status === ToolCallStatus.EXECUTING) return this.#runningLines(call);
    const text = textResult(call);
    const rest = text === undefined ? undefined : this.#outputSince(call.toolCallId, text);
    const shown = this.#shown.delete(call.toolCallId) && rest !== undefined;
    this.#begun.delete(call.toolCallId);
    return shown
      ? [...outputLines(rest, this.#paint), toolCallLine(call, this.#paint)]
      : [toolCallLine(call, this.#paint), ...resultLines(call, this.#paint)];
  }

  #runningLines(call: ToolCall): string[] {
    if (call.liveContent === undefined) {
      const isNew = !this.#begun.has(call.toolCallId);
      this.#begun.add(call.toolCallId);
      return isNew ? [toolCallLine(call, this.#paint)] : [];
    }
    const fresh = this.#outputSince(call.toolCallId, call.liveContent);
    this.#shown.set(call.toolCallId, call.liveContent);
    return outputLines(fresh ?? call.liveContent, this.#paint);
  }

  /** Returns the output that has not been printed; undefined when it does not continue what was printed, since its beginning was cut. */
  #outputSince(toolCallId: string, output: string): string | undefined {
    const before = this.#shown.get(toolCallId) ?? "";
    return output.startsWith(before) ? output.slice(before.length) : undefined;
  }

  /** Joins lines, below an unfinished line of text. */
  #lines(lines: readonly string[]): string {
    return lines.length === 0 ? "" : `${this.#closeText()}${lines.join("\n")}\n`;
  }

  /** Ends an unfinished line of text. */
  #closeText(): string {
    const open = this.#inText;
    this.#inText = false;
    return open ? "\n" : "";
  }
}

/** Indents all lines but the first, so that none can pass for a line of this program. */
function indented(text: string): string {
  return visible(text).replaceAll("\n", "\n    ");
}

function sourceOf({ uri, title, license }: Citation): string {
  return [title, uri, license && `(${license})`].filter((part) => part !== "").join(" ");
}

/** Returns the name of an artifact, and the parts of it that are text. */
function artifactLines({ artifact }: ArtifactUpdate, paint: Paint): string[] {
  const { artifactId = "", name = "", parts = [] } = artifact ?? {};
  return [paint("dim", `· artifact: ${indented(name || artifactId)}`), ...partLines(parts)];
}

function partLines(parts: readonly Part[]): string[] {
  return parts.flatMap(({ content }) => {
    if (content.case === "text") return visible(content.value).split("\n");
    if (content.case === "data") return [visible(JSON.stringify(content.value))];
    if (content.case === "dataValue") return [visible(toJsonString(ValueSchema, content.value))];
    return content.case === "file" ? [visible(fileLine(content.value))] : [];
  });
}

function fileLine({ name, mediaType, source }: File): string {
  const what = source.case === "bytes" ? `${source.value.length} bytes` : (source.value ?? "");
  return [name, mediaType && `(${mediaType})`, what].filter((word) => word !== "").join(" ");
}

/** Returns the text result of a call; undefined when it failed or has another result. */
function textResult({ result }: ToolCall): string | undefined {
  return result.case === "output" && result.value.result.case === "text" ? result.value.result.value : undefined;
}

function stateLines(text: string, state: TaskState, paint: Paint): string[] {
  const said = text === "" ? "" : `: ${visible(text)}`;
  switch (state) {
    case TaskState.FAILED:
      return [paint("bad", `failed${said}`)];
    case TaskState.REJECTED:
      return [paint("bad", `rejected${said}`)];
    case TaskState.CANCELED:
      return [paint("dim", `canceled${said}`)];
    default:
      return text === "" ? [] : [visible(text)];
  }
}
