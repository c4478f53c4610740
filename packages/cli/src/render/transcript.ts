import {
  type ArtifactUpdate,
  dataText,
  type Message,
  type Part,
  type TaskEvent,
  TaskState,
  type ToolCall,
  ToolCallStatus,
} from "@devtool/schema";
import { answerLine } from "../choice.ts";
import { indented, type Paint, visible } from "./style.ts";
import { outputLines, resultLines, toolCallLine } from "./tool-call.ts";

/**
 * Whose messages a transcript shows: the agent's alone, for users who have just
 * typed theirs, or both.
 */
export type Speakers = "agent" | "both";

/** Renders the events of a task as text for the terminal. */
export class Transcript {
  readonly #paint: Paint;
  readonly #speakers: Speakers;
  /** The output of running calls that has been printed. */
  readonly #shown = new Map<string, string>();
  /** The running calls whose first line has been printed. */
  readonly #begun = new Set<string>();
  /** The editor of which the agent was told last. Empty for none. */
  #editor = "";
  #inText = false;
  /** The artifacts that were printed. */
  readonly #artifacts = new Set<string>();
  /** The artifact whose text the last line holds. Empty if it holds none. */
  #openArtifact = "";

  constructor(paint: Paint, speakers: Speakers = "agent") {
    this.#paint = paint;
    this.#speakers = speakers;
  }

  /** Returns the text to print for an event; empty when there is none. */
  add({ payload, state }: TaskEvent): string {
    switch (payload.case) {
      case "text":
        return this.#text(payload.value.text);
      case "thought": {
        const { subject, description } = payload.value;
        return this.#lines([
          this.#paint("dim", `… ${indented(`${subject}: ${description}`)}`),
        ]);
      }
      case "toolCall":
        return this.#lines(this.#callLines(payload.value));
      case "stateChange":
        return (
          this.#closeText() +
          this.#lines(
            this.#stateLines(state, payload.value.error || payload.value.text),
          )
        );
      case "notice":
        return this.#lines([this.#note(indented(payload.value.text))]);
      case "summary":
        return this.#lines([
          this.#note("the earlier conversation was summarized"),
        ]);
      case "citation": {
        const { uri, title, license } = payload.value;
        const source = [title, uri, license && `(${license})`]
          .filter((part) => part !== "")
          .join(" ");
        return this.#lines([this.#note(`source: ${indented(source)}`)]);
      }
      case "artifact":
        return this.#artifact(payload.value);
      case "reply":
        return this.#lines(partLines(payload.value.parts));
      case "messageQueued":
        return this.#lines([
          ...this.#userLines(payload.value.message),
          this.#note("the message is queued until the agent takes it"),
        ]);
      case "messageWithdrawn":
        return this.#lines([this.#note("a queued message was withdrawn")]);
      case "renamed":
        return this.#lines([
          this.#note(`the title is now: ${indented(payload.value.title)}`),
        ]);
      case "created":
        return this.#lines(this.#userLines(payload.value.message));
      case "message":
        // A notice has said why the agent goes on.
        if (payload.value.forGoal) return this.#closeText();
        return this.#lines(this.#userLines(payload.value));
      case "messageTaken":
        // What the agent says to it is another answer.
        return this.#closeText();
      case "ideContext":
        return this.#lines(this.#editorLines(payload.value.editor));
      // A notice says the same.
      case "goalProgress":
      case "workflowRun":
      case "sessionTools":
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

  #text(text: string): string {
    const isContinued = this.#inText && this.#openArtifact === "";
    // A paragraph of its own begins a line in any case.
    const words = isContinued
      ? text
      : this.#closeText() + text.replace(/^\n+/, "");
    this.#inText = true;
    return visible(words);
  }

  /**
   * Returns an update of an artifact: a further piece goes on where the last
   * one ended, and one that replaces what was printed says so.
   */
  #artifact({ artifact, append }: ArtifactUpdate): string {
    const { artifactId = "", name = "", parts = [] } = artifact ?? {};
    const isPiece = append && this.#inText && this.#openArtifact === artifactId;
    const isKnown = this.#artifacts.has(artifactId);
    this.#artifacts.add(artifactId);
    const title = indented(name || artifactId);
    const change = append ? "continued" : "replaced, it is now";
    const hasText = parts.some(({ content }) => content.case !== "file");
    const heading = isKnown
      ? [this.#note(`artifact ${title} ${change}:`)]
      : name !== "" && hasText
        ? [this.#note(`artifact: ${title}`)]
        : [];
    const written = isPiece ? "" : this.#lines(heading) || this.#closeText();
    const pieces = parts.map((part) => {
      if (part.content.case !== "text") return this.#lines(partLines([part]));
      this.#inText = true;
      return visible(part.content.value);
    });
    this.#openArtifact = this.#inText ? artifactId : "";
    return written + pieces.join("");
  }

  /** Returns the line that says which editor the agent sees, when that changes. */
  #editorLines(editor: string): string[] {
    if (editor === this.#editor) return [];
    this.#editor = editor;
    return [
      this.#note(
        editor === ""
          ? "no editor is connected any more"
          : `connected to the editor ${indented(editor)}`,
      ),
    ];
  }

  /** Returns a line about the task, which nobody said. */
  #note(text: string): string {
    return this.#paint("dim", `· ${text}`);
  }

  /**
   * Returns the lines of a user's message: its text, answers to questions, and
   * attachments.
   */
  #userLines(message: Message | undefined): string[] {
    if (this.#speakers === "agent" || !message) return [];
    return message.parts.flatMap((part) => {
      const { content } = part;
      if (content.case === "text") {
        return [this.#paint("heading", `> ${indented(content.value)}`)];
      }
      if (content.case === "confirmation") {
        return [this.#paint("dim", answerLine(content.value.selectedOptionId))];
      }
      return partLines([part]).map((line) => `  · attached: ${line}`);
    });
  }

  #stateLines(state: TaskState, text: string): string[] {
    const outcome = outcomeText(state, text);
    if (outcome !== undefined) {
      return [
        this.#paint(state === TaskState.CANCELED ? "dim" : "bad", outcome),
      ];
    }
    return text === "" ? [] : [visible(text)];
  }

  #callLines(call: ToolCall): string[] {
    if (call.status === ToolCallStatus.PENDING) return [];
    if (call.status === ToolCallStatus.EXECUTING) {
      if (call.liveContent === undefined) {
        const isNew = !this.#begun.has(call.toolCallId);
        this.#begun.add(call.toolCallId);
        return isNew ? [toolCallLine(call, this.#paint)] : [];
      }
      const fresh = this.#outputSince(call.toolCallId, call.liveContent);
      this.#shown.set(call.toolCallId, call.liveContent);
      return outputLines(fresh ?? call.liveContent, this.#paint);
    }
    this.#begun.delete(call.toolCallId);
    const { output, problem } = endOf(call);
    const rest =
      output === undefined
        ? undefined
        : this.#outputSince(call.toolCallId, output);
    const isContinued =
      this.#shown.delete(call.toolCallId) && rest !== undefined;
    return isContinued
      ? [
          ...outputLines(rest, this.#paint),
          toolCallLine(call, this.#paint),
          ...outputLines(problem, this.#paint, "bad"),
        ]
      : [toolCallLine(call, this.#paint), ...resultLines(call, this.#paint)];
  }

  /**
   * Returns the output that has not been printed; undefined when it does not
   * continue what was printed, since its beginning was cut.
   */
  #outputSince(toolCallId: string, output: string): string | undefined {
    const before = this.#shown.get(toolCallId) ?? "";
    return output.startsWith(before) ? output.slice(before.length) : undefined;
  }

  /** Joins lines, below an unfinished line of text. */
  #lines(lines: readonly string[]): string {
    return lines.length === 0
      ? ""
      : `${this.#closeText()}${lines.join("\n")}\n`;
  }

  /** Ends an unfinished line of text. */
  #closeText(): string {
    const open = this.#inText;
    this.#inText = false;
    this.#openArtifact = "";
    return open ? "\n" : "";
  }
}

/**
 * Returns the output of a call that has ended, and why it failed, which a line
 * above the output says.
 */
function endOf({ result }: ToolCall): {
  readonly output: string | undefined;
  readonly problem: string;
} {
  if (result.case === "error") {
    const [problem = "", ...output] = result.value.message.split("\n");
    return { output: output.join("\n"), problem };
  }
  const { case: kind, value } = result.value?.result ?? {};
  return { output: kind === "text" ? value : undefined, problem: "" };
}

/**
 * Returns the lines of text and data, and a line for each file. Other parts
 * have none.
 */
export function partLines(parts: readonly Part[]): string[] {
  return parts.flatMap(({ content }) => {
    switch (content.case) {
      case "text":
        return visible(content.value).split("\n");
      case "data":
      case "dataValue":
        return [visible(dataText(content))];
      case "file": {
        const { name, mediaType, source } = content.value;
        const data =
          source.case === "bytes"
            ? `${source.value.length} bytes`
            : (source.value ?? "");
        return [
          indented(
            [name, mediaType && `(${mediaType})`, data]
              .filter((word) => word !== "")
              .join(" "),
          ),
        ];
      }
      default:
        return [];
    }
  });
}

const OUTCOMES: ReadonlyMap<TaskState, string> = new Map([
  [TaskState.FAILED, "failed"],
  [TaskState.REJECTED, "rejected"],
  [TaskState.CANCELED, "canceled"],
]);

/**
 * Returns the outcome of a task that failed, was rejected or was canceled, with
 * the reason; undefined for any other state.
 */
export function outcomeText(
  state: TaskState,
  reason: string,
): string | undefined {
  const outcome = OUTCOMES.get(state);
  return outcome === undefined || reason === ""
    ? outcome
    : `${outcome}: ${indented(reason)}`;
}
