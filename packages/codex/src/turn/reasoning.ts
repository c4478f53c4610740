import { create, type JsonObject } from "@bufbuild/protobuf";
import { type AgentThought, AgentThoughtSchema } from "@devtool/schema";
import { listOrEmpty, stringOrEmpty } from "@devtool/schema/json";

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
    parts[index] = (parts[index] ?? "") + stringOrEmpty(delta);
    this.#parts.set(id, parts);
  }

  /**
   * Returns the thoughts of a completed item: of its summary, or else of the
   * pieces that came, or else of its content.
   */
  end({ id, summary, content }: JsonObject): AgentThought[] {
    const pieces = this.#parts.get(stringOrEmpty(id)) ?? [];
    this.#parts.delete(stringOrEmpty(id));
    const summaries = listOrEmpty(summary).map(stringOrEmpty);
    const contents = listOrEmpty(content).map(stringOrEmpty);
    const texts =
      [summaries, pieces, contents].find((list) => list.length > 0) ?? [];
    return texts
      .filter((text) => text.trim() !== "")
      .map((text) => {
        // Codex writes `**Subject** description`.
        const { subject = "", rest = text } =
          /^\s*\*\*(?<subject>.+?)\*\*\s*(?<rest>.*)/s.exec(text)?.groups ?? {};
        return create(AgentThoughtSchema, {
          subject,
          description: rest.trim(),
        });
      });
  }
}
