import type { ArtifactUpdate, TaskEvent } from "@devtool/schema";
import { partLines } from "./render/transcript.ts";

/**
 * The agent's last message, gathered from the events of an exchange: what it
 * said after its last tool call and, of an A2A agent of others, its artifacts,
 * in which such agents answer. Each is a paragraph.
 */
export class LastMessage {
  readonly #artifacts: "answer" | "apart";
  /** The text of each paragraph, by its artifact or by its number. */
  readonly #paragraphs = new Map<string, string>();
  readonly #calls = new Set<string>();
  #isSpeaking = false;

  /** @param artifacts whether artifacts belong to the answer */
  constructor(artifacts: "answer" | "apart") {
    this.#artifacts = artifacts;
  }

  /** Adds what an event says. */
  add({ payload }: TaskEvent): void {
    switch (payload.case) {
      case "text":
        this.#say(payload.value.text);
        break;
      case "reply":
        this.#say(partLines(payload.value.parts).join("\n"));
        break;
      case "artifact":
        if (this.#artifacts === "answer") this.#update(payload.value);
        break;
      case "toolCall":
        if (this.#calls.has(payload.value.toolCallId)) break;
        this.#calls.add(payload.value.toolCallId);
        this.#restart();
        break;
      case "created":
      case "message":
      case "messageTaken":
        this.#restart();
        break;
      default:
    }
  }

  /** Returns the message; empty if nothing was said. */
  text(): string {
    const texts = [...this.#paragraphs.values()].map((text) =>
      text.replace(/^\n+/, ""),
    );
    return texts.filter((text) => text !== "").join("\n\n");
  }

  #restart(): void {
    this.#paragraphs.clear();
    this.#isSpeaking = false;
  }

  #say(text: string): void {
    const { size } = this.#paragraphs;
    const key = `text ${this.#isSpeaking ? size : size + 1}`;
    this.#isSpeaking = true;
    this.#paragraphs.set(key, (this.#paragraphs.get(key) ?? "") + text);
  }

  #update({ artifact, append }: ArtifactUpdate): void {
    const { artifactId = "", parts = [] } = artifact ?? {};
    const key = `artifact ${artifactId}`;
    const before = append ? (this.#paragraphs.get(key) ?? "") : "";
    const pieces = parts.map((part) =>
      part.content.case === "text"
        ? part.content.value
        : `${partLines([part]).join("\n")}\n`,
    );
    this.#isSpeaking = false;
    this.#paragraphs.set(key, before + pieces.join(""));
  }
}
