import type { Usage } from "@devtool/schema";
import type { OperationEnd, Turn } from "@devtool/server/agent";
import type { ModelEvent, ModelRequest, StepSource } from "./model.ts";
import { ModelFault } from "./remote/model-fault.ts";

/** Who answers a step, for the server's observer. */
export interface Answerer {
  /** The name of the model. */
  readonly name: string;
  /** `StepSource.provider`. */
  readonly provider: string | undefined;
}

/** A step of a model, of which the server's observer hears. */
export class ObservedStep {
  readonly #end: (end: OperationEnd) => void;
  readonly #began = performance.now();
  #firstPieceMs: number | undefined;
  #usage: Usage | undefined;
  #finishReason = "stop";

  constructor(turn: Pick<Turn, "observeStep">, { name, provider }: Answerer) {
    this.#end = turn.observeStep(name, provider);
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

/** Returns a source of whose steps the server's observer hears. */
export function observedSource(
  source: StepSource,
  turn: Pick<Turn, "observeStep">,
  name: string,
): StepSource {
  return {
    maxInputTokens: source.maxInputTokens,
    async *generate(request: ModelRequest, signal: AbortSignal) {
      const step = new ObservedStep(turn, {
        name: request.model || name,
        provider: source.provider,
      });
      try {
        for await (const event of source.generate(request, signal)) {
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
