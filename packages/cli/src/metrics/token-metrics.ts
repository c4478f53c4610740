import type { Usage } from "@devtool/schema";
import type { Operation } from "@devtool/server";
import type { OperationEnd } from "@devtool/server/agent";
import { Counter, type Metric } from "./instruments.ts";

/** The labels of what a model has done. */
export const MODEL_LABELS: readonly string[] = [
  "gen_ai.agent.name",
  "gen_ai.request.model",
  "gen_ai.provider.name",
];

/** The amounts that are counted. */
type Amounts = Readonly<
  Record<"input" | "output" | "cached" | "thought" | "cost", number>
>;

const NOTHING: Amounts = {
  input: 0,
  output: 0,
  cached: 0,
  thought: 0,
  cost: 0,
};

/**
 * The tokens of models, and what they cost.
 *
 * Those of a step count when it ends. Of an agent that does not report its
 * steps, those of a turn count when the turn ends.
 */
export class TokenMetrics {
  readonly #counters: Readonly<Record<keyof Amounts, Counter>> = {
    input: tokens("input_tokens", "Tokens of input, including cached ones."),
    output: tokens("output_tokens", "Tokens of output, including thoughts."),
    cached: tokens("cache_read.input_tokens", "Input read from a cache."),
    thought: tokens("reasoning.output_tokens", "Tokens of thoughts."),
    cost: new Counter({
      name: "devtool.cost",
      help: "What tokens cost, in the currency of the configured prices.",
      unit: "1",
      labels: MODEL_LABELS,
    }),
  };
  /** What the steps of the open turns have used, by the turn's id. */
  readonly #counted = new Map<string, Amounts>();

  /** Counts what a step or a turn has used that has ended. */
  note(
    { id, kind, name, parentId, agent, facts: begun }: Operation,
    { facts = {} }: OperationEnd,
  ): void {
    const used = amountsOf(facts.usage, facts.cost);
    if (kind === "step") {
      // A call may have asked, which is a part of the turn.
      const turnId = begun?.turnId ?? parentId;
      const counted = this.#counted.get(turnId) ?? NOTHING;
      if (facts.usage) this.#counted.set(turnId, add(counted, used));
      this.#add(used, [agent, name, begun?.provider ?? ""]);
    } else {
      const counted = this.#counted.get(id) ?? NOTHING;
      this.#counted.delete(id);
      const model = facts.task?.model ?? "";
      this.#add(minus(used, counted), [agent, model, ""]);
    }
  }

  read(): readonly Metric[] {
    return Object.values(this.#counters).map((each) => each.read());
  }

  #add(used: Amounts, labels: readonly string[]): void {
    for (const name of NAMES) {
      if (used[name] > 0) this.#counters[name].add(used[name], ...labels);
    }
  }
}

const NAMES = ["input", "output", "cached", "thought", "cost"] as const;

function tokens(name: string, help: string): Counter {
  return new Counter({
    name: `gen_ai.client.inference.usage.${name}`,
    help,
    unit: "{token}",
    labels: MODEL_LABELS,
  });
}

function amountsOf(usage: Usage | undefined, cost = 0): Amounts {
  if (!usage) return NOTHING;
  return {
    input: Number(usage.inputTokens),
    output: Number(usage.outputTokens),
    cached: Number(usage.cachedTokens),
    thought: Number(usage.thoughtTokens),
    cost,
  };
}

function add(one: Amounts, other: Amounts): Amounts {
  return {
    input: one.input + other.input,
    output: one.output + other.output,
    cached: one.cached + other.cached,
    thought: one.thought + other.thought,
    cost: one.cost + other.cost,
  };
}

function minus(
  one: Amounts,
  { input, output, cached, thought, cost }: Amounts,
) {
  return add(one, {
    input: -input,
    output: -output,
    cached: -cached,
    thought: -thought,
    cost: -cost,
  });
}
