import type { Task } from "@devtool/schema";
import type { AgentExecutor } from "../agent/agent-executor.ts";
import { deferred } from "../stream/deferred.ts";
import type { Agents } from "./agents.ts";

/** Agents that are opened when the first one is needed: a server answers before it has read what only agents need. */
export class LazyAgents implements AsyncDisposable {
  readonly #open: () => Promise<Agents>;
  #opening: Promise<Agents> | undefined;

  constructor(open: () => Promise<Agents>) {
    this.#open = open;
  }

  /** The agents, opened when they are not; tried again by the next who needs them when that failed. */
  get(): Promise<Agents> {
    this.#opening ??= this.#open().catch((reason: unknown) => {
      this.#opening = undefined;
      throw reason;
    });
    return this.#opening;
  }

  /** The agent of a task, which is made when it has something to do. */
  createExecutor(task: Task): AgentExecutor {
    let making: Promise<AgentExecutor> | undefined;
    const make = (): Promise<AgentExecutor> => (making ??= this.get().then((agents) => agents.createAgent(task)));
    return {
      modelFor: async (current) => (await make()).modelFor(current),
      execute: (turn, signal) => deferred(async () => (await make()).execute(turn, signal)),
      [Symbol.asyncDispose]: async () => (await making)?.[Symbol.asyncDispose](),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await (await this.#opening)?.[Symbol.asyncDispose]();
  }
}
