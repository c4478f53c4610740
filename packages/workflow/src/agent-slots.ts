import { Semaphore } from "@devtool/internal/semaphore";
import type { AgentMesh } from "@devtool/schema";

/** How many messages an agent works on at the same time, by default. */
const CONCURRENCY = 16;

/** Bounds the work of each agent of a mesh, whoever sends the messages. */
export class AgentSlots {
  readonly #slots: Map<string, Semaphore>;

  constructor({ agents }: AgentMesh) {
    this.#slots = new Map(
      agents.map(({ name, concurrency = CONCURRENCY }) => [
        name,
        new Semaphore(concurrency),
      ]),
    );
  }

  /** Takes a slot of an agent if one is free. */
  tryTake(agent: string): AgentSlot | undefined {
    const slots = this.#of(agent);
    const held = slots.tryAcquire();
    return held && new AgentSlot(slots, held);
  }

  /** Waits for a slot of an agent. */
  async take(agent: string, signal: AbortSignal): Promise<AgentSlot> {
    const slots = this.#of(agent);
    return new AgentSlot(slots, await slots.acquire(signal));
  }

  /** An agent that has left the file may still have a message of before. */
  #of(agent: string): Semaphore {
    const slots = this.#slots.get(agent) ?? new Semaphore(CONCURRENCY);
    this.#slots.set(agent, slots);
    return slots;
  }
}

/** A place among the messages that an agent works on. */
export class AgentSlot implements Disposable {
  readonly #slots: Semaphore;
  #held: Disposable | undefined;

  constructor(slots: Semaphore, held: Disposable) {
    this.#slots = slots;
    this.#held = held;
  }

  /** Leaves the place to others, while the agent waits for its user. */
  leave(): void {
    this.#held?.[Symbol.dispose]();
    this.#held = undefined;
  }

  /** Takes a place again, once one is free. */
  async resume(signal: AbortSignal): Promise<void> {
    this.#held ??= await this.#slots.acquire(signal);
  }

  [Symbol.dispose](): void {
    this.leave();
  }
}
