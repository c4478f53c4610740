import type { ListKind } from "./list-items.ts";

/** What a server's lists hold that cannot be used, with the reasons. */
export class LeftOut {
  readonly #texts = new Map<ListKind, Set<string>>();

  /** The sentences of all lists, each once. */
  get texts(): readonly string[] {
    return [...this.#texts.values()].flatMap((texts) => [...texts]);
  }

  add(list: ListKind, text: string): void {
    const texts = this.#texts.get(list) ?? new Set<string>();
    this.#texts.set(list, texts.add(text));
  }

  /** Forgets what is known of a list, which is read again. */
  clear(list: ListKind): void {
    this.#texts.delete(list);
  }
}
