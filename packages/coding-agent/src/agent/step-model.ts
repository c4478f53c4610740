import type { Usage } from "@devtool/schema";
import type { OperationEnd } from "@devtool/server/agent";
import type { AgentModel, Model, ModelEvent } from "./model.ts";
import { ModelFault } from "./remote/model-fault.ts";

/** A step of a model, as far as the server has to know. */
class ObservedStep {
  readonly #end: (end: OperationEnd) => void;
  readonly #began = performance.now();
  #firstPieceMs: number | undefined;
  #usage: Usage | undefined;
  #finishReason = "stop";

  constructor(end: (end: OperationEnd) => void) {
    this.#end = end;
  }

  /** Notes what an event says about the step. */
  note(event: ModelEvent): void {
    if (event.case === "usage") this.#usage = event.value;
    if (event.case === "toolCall") this.#finishReason = "tool_call";
    // The user hears of an attempt that failed before the model says anything.
    if (event.case === "notice") return;
    this.#firstPieceMs ??= performance.now() - this.#began;
  }

  succeed(): void {
    this.#finish("succeeded", this.#finishReason);
  }

  fail(error: unknown): void {
    const reason = error instanceof ModelFault ? error.finishReason : "error";
    this.#finish("failed", reason, error);
  }

  /** Ends a step that was left before its end. */
  cancel(): void {
    this.#finish("canceled");
  }

  #finish(
    outcome: OperationEnd["outcome"],
    finishReason?: string,
    error?: unknown,
  ): void {
    const [usage, firstPieceMs] = [this.#usage, this.#firstPieceMs];
    this.#end({ outcome, error, facts: { usage, firstPieceMs, finishReason } });
  }
}

/**
 * Returns a model each of whose requests is a step of the turn that asks: it
 * counts for the budgets, and the server's observer hears of it.
 *
 * Nothing of the agent has the model itself, so no request is left out.
 */
export function stepModel(model: Model): AgentModel {
  const { name, maxInputTokens, provider } = model;
  return {
    name,
    maxInputTokens,
    async *generate({ beginStep, traceContext: _trace, ...request }, signal) {
      const step = new ObservedStep(
        beginStep(request.model || name, { provider }),
      );
      try {
        for await (const event of model.generate(request, signal)) {
          step.note(event);
          yield event;
        }
        step.succeed();
      } catch (reason) {
        if (!signal.aborted) step.fail(reason);
        throw reason;
      } finally {
        step.cancel();
      }
    },
  };
}
