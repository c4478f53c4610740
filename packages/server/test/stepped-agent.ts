import { Role } from "@devtool/schema";
import type {
  AgentEvent,
  AgentExecutor,
  Turn,
  TurnEnd,
} from "../src/agent/agent-executor.ts";

/** An agent whose turns and steps continue when the test lets them. */
export class SteppedAgent implements AgentExecutor {
  readonly takesSteering: boolean;
  readonly heard: string[] = [];
  #turn = Promise.withResolvers<void>();
  #step = Promise.withResolvers<void>();
  #stepped = Promise.withResolvers<void>();
  #end = Promise.withResolvers<TurnEnd | undefined>();
  #awaited = 0;

  constructor({ takesSteering = false } = {}) {
    this.takesSteering = takesSteering;
  }

  modelFor(): string {
    return "";
  }

  async *execute(turn: Turn, aborting: AbortSignal): AsyncIterable<AgentEvent> {
    this.heard.push(
      turn.task.history.findLast(({ role }) => role === Role.USER)?.messageId ??
        "",
    );
    this.#end = Promise.withResolvers();
    aborting.addEventListener("abort", () => this.#end.reject(aborting.reason));
    this.#turn.resolve();
    this.#turn = Promise.withResolvers();
    if (this.takesSteering) {
      await this.#step.promise;
      turn.takeSteering();
      this.#stepped.resolve();
    }
    const end = await this.#end.promise;
    if (end) yield { case: "end", value: end };
  }

  /** Resolves when the next turn has started. */
  async turn(): Promise<void> {
    this.#awaited++;
    while (this.heard.length < this.#awaited) await this.#turn.promise;
  }

  step(): void {
    this.#step.resolve();
  }

  stepped(): Promise<void> {
    return this.#stepped.promise;
  }

  endTurn(end?: TurnEnd): void {
    this.#end.resolve(end);
  }

  fail(reason: Error): void {
    this.#end.reject(reason);
  }

  async [Symbol.asyncDispose](): Promise<void> {}
}
