import type {
  CallResult,
  Entry,
} from "@devtool/coding-agent/testing/fake-model";
import {
  isObject,
  listOrEmpty,
  objectOrEmpty,
  stringOrEmpty,
} from "@devtool/internal/json";

/** Reads the contents of a request. */
export function readConversation(contents: unknown): Entry[] {
  return listOrEmpty(contents).map((content): Entry => {
    const parts = partsOf(content);
    if (objectOrEmpty(content).role === "model") {
      const hasCalls = parts.some(({ functionCall }) => isObject(functionCall));
      return { role: "model", hasCalls };
    }
    const texts = parts.flatMap(({ text }) =>
      typeof text === "string" ? [text] : [],
    );
    return { role: "user", texts, results: parts.flatMap(resultsIn) };
  });
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

type Part = Readonly<Record<string, unknown>>;

function resultsIn({ functionResponse }: Part): CallResult[] {
  if (!isObject(functionResponse)) return [];
  const { name, response } = functionResponse;
  return [{ name: stringOrEmpty(name), value: response }];
}

function partsOf(content: unknown): Part[] {
  return listOrEmpty(objectOrEmpty(content).parts).map(objectOrEmpty);
}
