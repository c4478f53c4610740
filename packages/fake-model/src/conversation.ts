import { parseStep } from "@devtool/coding-agent/script";

/** The result of a call, as an agent sends it to the model. */
export interface CallResult {
  readonly name: string;
  readonly value: unknown;
}

/** An entry of a conversation, in the form that all APIs have in common. */
export type Entry =
  | { readonly role: "model"; readonly hasCalls: boolean }
  | { readonly role: "user"; readonly texts: readonly string[]; readonly results: readonly CallResult[] };

/** Position of a conversation in its script. */
export interface Position {
  /** The prompt to respond to. */
  readonly prompt: string;
  /** Number of the model's turns with calls since the prompt. */
  readonly round: number;
  /** The results of calls that the model has not responded to yet. */
  readonly results: readonly CallResult[];
}

/** Finds the prompt that the last entry belongs to, and the number of turns with calls since then. */
export function locate(conversation: readonly Entry[]): Position {
  const entries = joinEntries(conversation);
  const last = entries.at(-1);
  const results = last?.role === "user" ? last.results : [];
  let round = 0;
  for (const entry of entries.toReversed()) {
    if (entry.role === "model") {
      if (entry.hasCalls) round++;
      continue;
    }
    // Agents put context of their own before the prompt, and an earlier prompt whose turn was canceled stands beside it. It
    // starts at the last text that is a script; without a script, it is the last text.
    const prompt = entry.texts.slice(entry.texts.findLastIndex(isScript)).join("\n");
    if (entry.results.length === 0 || isScript(prompt)) return { prompt, round, results };
  }
  return { prompt: "", round, results };
}

/** Joins adjacent entries of one kind: some APIs have an entry for each call, result or text. */
function joinEntries(conversation: readonly Entry[]): Entry[] {
  const joined: Entry[] = [];
  for (const entry of conversation) {
    const last = joined.at(-1);
    if (last?.role === "model" && entry.role === "model") {
      joined.splice(-1, 1, { role: "model", hasCalls: last.hasCalls || entry.hasCalls });
    } else if (last?.role === "user" && entry.role === "user" && hasResults(last) === hasResults(entry)) {
      const texts = [...last.texts, ...entry.texts];
      joined.splice(-1, 1, { role: "user", texts, results: [...last.results, ...entry.results] });
    } else joined.push(entry);
  }
  return joined;
}

function hasResults({ results }: Extract<Entry, { role: "user" }>): boolean {
  return results.length > 0;
}

function isScript(text: string): boolean {
  return parseStep(text.trim().split("\n", 1)[0] ?? "") !== undefined;
}
