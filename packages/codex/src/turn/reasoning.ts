import { create, type JsonObject } from "@bufbuild/protobuf";
import { stringOrEmpty } from "@devtool/internal/json";
import { type AgentThought, AgentThoughtSchema } from "@devtool/schema";
import { elementsOf, wordsOf } from "./odd-value.ts";

/** The `reasoning` items of a turn, from their pieces to thoughts. */
export class Reasoning {
  /** The parts of the summaries that are being written, by item. */
  readonly #parts = new Map<string, string[]>();

  /** Takes a piece of a summary (`item/reasoning/summaryTextDelta`). */
  append({ itemId, delta, summaryIndex }: JsonObject): void {
    const id = stringOrEmpty(itemId);
    const parts = this.#parts.get(id) ?? [];
    const index =
      typeof summaryIndex === "number" && summaryIndex >= 0
        ? Math.min(summaryIndex, parts.length)
        : 0;
    parts[index] = (parts[index] ?? "") + wordsOf(delta);
    this.#parts.set(id, parts);
  }

  /**
   * Returns the thoughts of a completed item: of its summary, or else of the
   * pieces that came, or else of its content.
   */
  end({ id, summary, content }: JsonObject): AgentThought[] {
    const pieces = this.#parts.get(stringOrEmpty(id)) ?? [];
    this.#parts.delete(stringOrEmpty(id));
    const sent = elementsOf(summary);
    const isWhole =
      Array.isArray(summary) && sent.every((part) => typeof part === "string");
    const texts = [
      [...(isWhole ? [] : pieces), ...sent.map(wordsOf)],
      pieces,
      elementsOf(content).map(wordsOf),
    ];
    return thoughtsOf(texts.find((list) => list.length > 0) ?? []);
  }

  /** Returns the thoughts whose items were not completed. */
  rest(): AgentThought[] {
    const texts = [...this.#parts.values()].flat();
    this.#parts.clear();
    return thoughtsOf(texts);
  }
}

function thoughtsOf(texts: readonly string[]): AgentThought[] {
  return texts
    .filter((text) => text.trim() !== "")
    .map((text) => {
      // Codex writes `**Subject** description`.
      const { subject = "", rest = text } =
        /^\s*\*\*(?<subject>.+?)\*\*\s*(?<rest>.*)/s.exec(text)?.groups ?? {};
      return create(AgentThoughtSchema, { subject, description: rest.trim() });
    });
}
