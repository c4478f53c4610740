import { create, toJson } from "@bufbuild/protobuf";
import {
  type Artifact,
  ArtifactSchema,
  type ArtifactUpdate,
  ArtifactUpdateSchema,
  dataText,
  type Message,
  type Part,
  PartSchema,
  Role,
  type TaskEvent,
  TextContentSchema,
} from "@devtool/schema";

/**
 * What an event shows of a message or an artifact.
 */
export type ContentPayload = Extract<
  TaskEvent["payload"],
  { case: "text" | "artifact" | "message" }
>;

/** An artifact that replaces an earlier one with its id, and is complete. */
const WHOLE = { append: false, lastChunk: true };

/**
 * The messages and artifacts of one task of another agent that were shown. Such
 * an agent has no log, so this decides what of a whole task is new.
 *
 * A message is shown as text, a paragraph of its own, and its files as an
 * artifact.
 */
export class TaskContent {
  /**
   * The text of each message, by its id, or by the text itself if it has none.
   */
  readonly #messages = new Map<string, string>();
  readonly #artifacts = new Map<string, Artifact>();
  /**
   * The message that spoke last in this exchange.
   */
  #last: { key: string; id: string; text: string } | undefined;

  #isFollowed = false;

  /**
   * Whether what the task has now can be told from what it had before.
   */
  get isFollowed(): boolean {
    return this.#isFollowed || this.#messages.size + this.#artifacts.size > 0;
  }

  /**
   * Starts the answer to another message.
   */
  startExchange(): void {
    this.#last = undefined;
  }

  /**
   * Shows a message, or one more piece of it: pieces have one id.
   */
  ofMessage(message: Message): ContentPayload[] {
    if (message.role === Role.USER)
      return [{ case: "message", value: message }];
    const { messageId, parts } = message;
    const text = textOf(parts.filter(({ content }) => content.case !== "file"));
    const files = parts.filter(({ content }) => content.case === "file");
    const said = this.#say(messageId, text);
    if (files.length === 0) return said;
    const [{ content } = create(PartSchema)] = files;
    const name = content.case === "file" ? content.value.name : "";
    const artifact = create(ArtifactSchema, { name, parts: files });
    return [...said, ...this.#ofArtifact(artifact, WHOLE)];
  }

  /**
   * Shows an update of an artifact.
   */
  ofUpdate({ artifact, ...piece }: ArtifactUpdate): ContentPayload[] {
    return artifact ? this.#ofArtifact(artifact, piece) : [];
  }

  /**
   * Shows what a whole task has that was not shown.
   */
  ofTask(
    messages: readonly Message[],
    artifacts: readonly Artifact[],
  ): ContentPayload[] {
    this.#isFollowed = true;
    return [
      ...messages.flatMap((message) => this.#unseenOf(message)),
      ...artifacts.flatMap((artifact) => this.#newerThanSeen(artifact)),
    ];
  }

  #unseenOf(message: Message): ContentPayload[] {
    const { messageId, parts, role } = message;
    const text = textOf(parts);
    const key = messageId || text;
    const seen = this.#messages.get(key);
    if (role === Role.USER || seen === undefined) {
      const isSeen = seen !== undefined || this.#hasSaid(text);
      this.#messages.set(key, text);
      return isSeen ? [] : this.ofMessage(message);
    }
    return text.startsWith(seen)
      ? this.#say(messageId, text.slice(seen.length))
      : [];
  }

  #hasSaid(text: string): boolean {
    return text !== "" && [...this.#messages.values()].includes(text);
  }

  #newerThanSeen(artifact: Artifact): ContentPayload[] {
    const seen = this.#artifacts.get(artifact.artifactId);
    if (!seen) return this.#ofArtifact(artifact, WHOLE);
    const before = textOf(seen.parts);
    const now = textOf(artifact.parts);
    if (now === before) return [];
    const isText = artifact.parts.every(
      ({ content }) => content.case === "text",
    );
    if (!isText || !now.startsWith(before)) {
      return this.#ofArtifact(artifact, WHOLE);
    }
    const value = now.slice(before.length);
    const rest = [create(PartSchema, { content: { case: "text", value } })];
    const piece = { append: true, lastChunk: true };
    return this.#ofArtifact({ ...artifact, parts: rest }, piece);
  }

  #ofArtifact(
    given: Artifact,
    { append, lastChunk }: Pick<ArtifactUpdate, "append" | "lastChunk">,
  ): ContentPayload[] {
    // A piece of an artifact without an id belongs to the last one.
    const last = append ? [...this.#artifacts.keys()].at(-1) : undefined;
    const artifactId =
      given.artifactId || last || `artifact-${this.#artifacts.size + 1}`;
    const artifact = { ...given, artifactId };
    const earlier = append
      ? (this.#artifacts.get(artifactId)?.parts ?? [])
      : [];
    const parts = [...earlier, ...artifact.parts];
    this.#artifacts.set(artifactId, { ...artifact, parts });
    const value = create(ArtifactUpdateSchema, { artifact, append, lastChunk });
    return [{ case: "artifact", value }];
  }

  #say(id: string, text: string): ContentPayload[] {
    if (text === "") return [];
    const last = this.#last;
    const isPiece = last && (id === last.id || isNextPiece(last.id, id));
    const key = isPiece && id !== "" ? last.key : id || text;
    const start = !last || key === last.key ? "" : breakAfter(last.text);
    this.#messages.set(key, (this.#messages.get(key) ?? "") + text);
    this.#last = { key, id, text };
    const value = create(TextContentSchema, { text: start + text });
    return [{ case: "text", value }];
  }
}

/**
 * Whether a message is the next piece of a step of devtool's server, which
 * gives each piece the number of its event to clients without the extension.
 */
function isNextPiece(before: string, id: string): boolean {
  const [, task, number] = /^(.+):(\d{1,15})$/.exec(before) ?? [];
  return number !== undefined && id === `${task}:${Number(number) + 1}`;
}

function breakAfter(text: string): string {
  if (text.endsWith("\n\n")) return "";
  return text.endsWith("\n") ? "\n" : "\n\n";
}

/**
 * Returns parts as text. Data and files are their JSON.
 */
function textOf(parts: readonly Part[]): string {
  const texts = parts.map((part) => {
    const { content } = part;
    switch (content.case) {
      case "text":
        return content.value;
      case "data":
      case "dataValue":
        return dataText(content);
      default:
        return JSON.stringify(toJson(PartSchema, part));
    }
  });
  return texts.join("");
}
