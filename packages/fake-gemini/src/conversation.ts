import { type CallResult, isScript } from "@devtool/fake-model";
import {
  isObject,
  listOrEmpty,
  objectOrEmpty,
  stringOrEmpty,
} from "@devtool/internal/json";

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
 * Finds the prompt that the last content belongs to, and the number of turns
 * with calls since then.
 */
export function locate(contents: unknown): Position {
  const list = listOrEmpty(contents);
  let round = 0;
  for (const content of list.toReversed()) {
    if (objectOrEmpty(content).role === "model") {
      if (partsOf(content).some(({ functionCall }) => isObject(functionCall))) {
        round++;
      }
      continue;
    }
    // Agents put context of their own before the prompt. It starts at the first
    // script; without one, it is the last part.
    const texts = partsOf(content)
      .map(({ text }) => text)
      .filter((text) => typeof text === "string");
    const prompt = texts.slice(texts.findIndex(isScript)).join("\n");
    if (resultsIn(content).length === 0 || isScript(prompt)) {
      return { prompt, round, results: resultsIn(list.at(-1)) };
    }
  }
  return { prompt: "", round, results: [] };
}

/**
 * Lists the signatures in the contents, which the model gave with its calls.
 */
export function listSignatures(contents: unknown): string[] {
  return listOrEmpty(contents)
    .flatMap(partsOf)
    .map(({ thoughtSignature }) => stringOrEmpty(thoughtSignature))
    .filter((signature) => signature !== "");
}

function resultsIn(content: unknown): CallResult[] {
  return partsOf(content).flatMap(({ functionResponse }) => {
    if (!isObject(functionResponse)) return [];
    return [
      {
        name: stringOrEmpty(functionResponse.name),
        value: functionResponse.response,
      },
    ];
  });
}

function partsOf(content: unknown): Readonly<Record<string, unknown>>[] {
  return listOrEmpty(objectOrEmpty(content).parts).map(objectOrEmpty);
}
