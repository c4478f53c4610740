import type { JsonObject } from "@bufbuild/protobuf";
import type { Model, ModelEvent, ModelRequest } from "@devtool/coding-agent";
import { Role } from "@devtool/schema";

/** A model that answers when the test says so, and keeps what it was told. */
export class GatedModel implements Model {
  readonly name = "gated";
  /** The text of the user's last message at each step, in order. */
  readonly heard: string[] = [];
  #asked = Promise.withResolvers<void>();
  #answer = Promise.withResolvers<ModelEvent>();

  async *generate(
    { history }: ModelRequest,
    signal: AbortSignal,
  ): AsyncIterable<ModelEvent> {
    const last = history.findLast(({ role }) => role === Role.USER)?.parts[0]
      ?.content;
    this.heard.push(last?.case === "text" ? last.value : "");
    this.#answer = Promise.withResolvers();
    const abort = (): void => this.#answer.reject(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
    this.#asked.resolve();
    this.#asked = Promise.withResolvers();
    yield await this.#answer.promise;
    signal.removeEventListener("abort", abort);
  }

  /** Resolves when the model has been asked this many times. */
  async asked(times: number): Promise<void> {
    while (this.heard.length < times) await this.#asked.promise;
  }

  /** Ends the step that waits, with a text. */
  answer(value: string): void {
    this.#answer.resolve({ case: "text", value });
  }

  /** Ends the step that waits, with a tool call. */
  call(name: string, args: JsonObject): void {
    this.#answer.resolve({ case: "toolCall", value: { name, args } });
  }
}
