import { parseStep } from "@devtool/coding-agent/script";
import { isObject, listOf, member, textOf } from "./json.ts";

/** Where in its script a conversation stands. */
export interface Position {
  /** The prompt that is being answered. */
  readonly prompt: string;
  /** So many of the model's turns with calls came since. */
  readonly round: number;
  /** The function responses that wait for an answer. */
  readonly responses: readonly FunctionResponse[];
}

/** What came of a call, as an agent tells the model. */
export interface FunctionResponse {
  readonly name: string;
  readonly response: unknown;
}

/** Finds the prompt that the last content belongs to, and how many rounds of calls it has had. */
export function locate(contents: unknown): Position {
  const list = listOf(contents);
  let round = 0;
  for (const content of list.toReversed()) {
    const isPrompt = responsesOf(content).length === 0 || isScript(promptOf(content));
    if (member(content, "role") === "model") round += hasCall(content) ? 1 : 0;
    else if (isPrompt) return { prompt: promptOf(content), round, responses: responsesOf(list.at(-1)) };
  }
  return { prompt: "", round, responses: [] };
}

/** Lists what the contents carry of the signatures that the model gave with its calls. */
export function signaturesOf(contents: unknown): string[] {
  return listOf(contents)
    .flatMap(partsOf)
    .map((part) => textOf(member(part, "thoughtSignature")))
    .filter((signature) => signature !== "");
}

/**
 * The prompt in a user's content. Agents put context of their own in front of it, in parts before it: what counts is the
 * first part that is a script and all after it, or else the last part.
 */
function promptOf(content: unknown): string {
  const texts = partsOf(content)
    .map((part) => member(part, "text"))
    .filter((text) => typeof text === "string");
  const start = texts.findIndex(isScript);
  return texts.slice(start).join("\n");
}

function isScript(text: string): boolean {
  return parseStep(text.trim().split("\n", 1)[0] ?? "") !== undefined;
}

function responsesOf(content: unknown): FunctionResponse[] {
  return partsOf(content).flatMap((part) => {
    const given = member(part, "functionResponse");
    return isObject(given) ? [{ name: textOf(given.name), response: given.response }] : [];
  });
}

function hasCall(content: unknown): boolean {
  return partsOf(content).some((part) => isObject(member(part, "functionCall")));
}

function partsOf(content: unknown): readonly unknown[] {
  return listOf(member(content, "parts"));
}
