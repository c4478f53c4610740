import { parseInstruction } from "../../agent/scripted/script.ts";

/** The result of a call, as an agent sends it to the model. */
export interface CallResult {
  readonly name: string;
  readonly value: unknown;
}

/** An entry of a conversation, in the form that all APIs have in common. */
export type Entry =
  | { readonly role: "model"; readonly hasCalls: boolean }
  | {
      readonly role: "user";
      readonly texts: readonly string[];
      readonly results: readonly CallResult[];
    };

/** Position of a conversation in its script. */
export interface Position {
  /** The prompt to respond to. */
  readonly prompt: string;
  /** Number of the model's turns with calls since the prompt. */
  readonly round: number;
  /** The results of calls that the model has not responded to yet. */
  readonly results: readonly CallResult[];
}

/**
 * Finds the prompt that the last entry belongs to, and the number of turns with
 * calls since then.
 */
export function locate(conversation: readonly Entry[]): Position {
  // Adjacent entries of one kind are joined: some APIs have an entry for each
  // call, result or text.
  const entries: Entry[] = [];
  for (const entry of conversation) {
    const before = entries.at(-1);
    if (before?.role === "model" && entry.role === "model") {
      entries.splice(-1, 1, {
        role: "model",
        hasCalls: before.hasCalls || entry.hasCalls,
      });
    } else if (
      before?.role === "user" &&
      entry.role === "user" &&
      hasResults(before) === hasResults(entry)
    ) {
      const texts = [...before.texts, ...entry.texts];
      entries.splice(-1, 1, {
        role: "user",
        texts,
        results: [...before.results, ...entry.results],
      });
    } else {
      entries.push(entry);
    }
  }
  const last = entries.at(-1);
  const results = last?.role === "user" ? last.results : [];
  let round = 0;
  for (const entry of entries.toReversed()) {
    if (entry.role === "model") {
      if (entry.hasCalls) round++;
      continue;
    }
    // Agents put context of their own before the prompt, and an earlier prompt
    // whose turn was canceled stands beside it. It starts at the last text that
    // is a script; without a script, it is the last text.
    const prompt = entry.texts
      .slice(entry.texts.findLastIndex(isScript))
      .join("\n");
    if (entry.results.length === 0 || isScript(prompt)) {
      return { prompt, round, results };
    }
  }
  return { prompt: "", round, results };
}

function hasResults({ results }: Extract<Entry, { role: "user" }>): boolean {
  return results.length > 0;
}

/** Returns whether a text begins with a step of a script. */
export function isScript(text: string): boolean {
  return parseInstruction(text.trim().split("\n", 1)[0] ?? "") !== undefined;
}
