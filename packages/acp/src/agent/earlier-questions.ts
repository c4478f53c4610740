import { findToolCallDetail, type Task } from "@devtool/schema";

/**
 * The questions about calls that an earlier run of the agent left open, and
 * about those that were declined, by what was asked.
 */
export class EarlierQuestions {
  readonly #ids: ReadonlyMap<string, string>;
  /** The calls about which the agent has asked again. */
  readonly #adopted = new Set<string>();
  /** The calls of which the agent has said that they run or ended. */
  readonly #reported = new Set<string>();

  /** @param ids the ids of the calls in the task */
  constructor(task: Task, ids: readonly string[]) {
    const digests = ids.map(
      (id) => [hex(findToolCallDetail(task, id)?.digest), id] as const,
    );
    this.#ids = new Map(digests.filter(([digest]) => digest !== ""));
  }

  /** Whether there are some about which the agent has not asked again. */
  get areLeft(): boolean {
    return this.#ids.size > this.#adopted.size;
  }

  /** Takes that the agent says of a call that it runs or has ended. */
  noteReport(id: string): void {
    this.#reported.add(id);
  }

  /**
   * Takes the earlier question that a call asks again.
   *
   * @param digest the digest of what the call asks
   * @returns the id of the earlier call in the task; undefined when the
   * question is new
   */
  take(id: string, digest: Uint8Array): string | undefined {
    const earlier = this.#ids.get(hex(digest));
    if (earlier === undefined) return undefined;
    // The agent may withdraw its question and ask it once more, as ours does
    // when a prompt begins: the answer holds until the call runs.
    if (this.#adopted.has(earlier)) {
      return id === earlier && !this.#reported.has(id) ? id : undefined;
    }
    if (earlier === id) return undefined;
    this.#adopted.add(earlier);
    return earlier;
  }
}

/** Returns bytes as text; empty for none. */
export function hex(bytes: Uint8Array = new Uint8Array()): string {
  return Buffer.from(bytes).toString("hex");
}
