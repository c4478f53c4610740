import { toJson } from "@bufbuild/protobuf";
import { isObject, objectOrEmpty } from "@devtool/internal/json";
import { type Step, StepSchema } from "../protos.ts";
import type { Subject } from "../subject/find-subject.ts";
import prompts from "./prompts.json" with { type: "json" };

/** A prompt of a case. */
interface Prompt {
  /** What the agent must do with it, after "the agent must". */
  readonly agentMust: string;
  /** The prompt in the step language of devtool's scripted agent. */
  readonly scripted: string;
}

const PROMPTS: Readonly<Record<string, Prompt>> = prompts;

/** Prompts by the name of the behaviour that they cause. */
export type Prompts = Readonly<Record<string, string>>;

/** The prompts of devtool's scripted agent. */
export const SCRIPTED_PROMPTS: Prompts = mapPrompts(({ scripted }) => scripted);

/** What any agent can be asked, and may answer as it likes. */
export const GREETING: Prompts = { says: "Hello", ends: "Hello" };

/** The keys that cases of A2A itself need; the others are the extension's. */
const A2A_KEYS: readonly string[] = [
  "says",
  "ends",
  "asks",
  "answers",
  "works-long",
  "works-a-while",
  "hook",
];

/**
 * Returns the prompts for an agent for which none are given: those of the
 * scripted agent if its card claims the extension, otherwise a greeting.
 */
export function usualPrompts({ claims }: Pick<Subject, "claims">): Prompts {
  return claims.has("extension") ? SCRIPTED_PROMPTS : GREETING;
}

/** Returns the keys of the prompts that steps send, in their order. */
export function promptKeys(...steps: readonly Step[]): string[] {
  const text = JSON.stringify(steps.map((step) => toJson(StepSchema, step)));
  return [...text.matchAll(/\$\{prompt:([\w-]+)\}/g)].map(
    ([, key = ""]) => key,
  );
}

/** Returns what an agent must do with the prompt of a key. */
export function agentMust(key: string): string {
  return `the agent must ${PROMPTS[key]?.agentMust}`;
}

/**
 * Reads a file of prompts: each is a text, or an object as `promptsTemplate`
 * writes it. One that is empty is not given. Throws for a key that no case has.
 */
export function readPrompts(json: string): Prompts {
  const given: unknown = JSON.parse(json);
  if (!isObject(given)) throw new Error("prompts must be a JSON object");
  assertPromptKeys(given);
  const named = Object.entries(given).map(([key, value]): [string, string] => {
    const prompt =
      typeof value === "string" ? value : objectOrEmpty(value).prompt;
    if (typeof prompt !== "string") {
      throw new Error(
        `prompt "${key}" must be a string, or an object with the string "prompt"`,
      );
    }
    return [key, prompt];
  });
  return Object.fromEntries(named.filter(([, prompt]) => prompt !== ""));
}

/** Throws if a prompt has a key that no case has. */
export function assertPromptKeys(given: object): void {
  const unknown = Object.keys(given).find(
    (key) => !Object.hasOwn(PROMPTS, key),
  );
  if (unknown === undefined) return;
  throw new Error(
    `there is no prompt "${unknown}": the keys are ${Object.keys(PROMPTS).join(", ")}`,
  );
}

/**
 * Returns a file of prompts to fill in: what the agent must do with each, and
 * the prompt. With `claims` of the extension, it has the extension's too.
 */
export function promptsTemplate(claims: Subject["claims"]): string {
  const keys = Object.keys(PROMPTS).filter(
    (key) => claims.has("extension") || A2A_KEYS.includes(key),
  );
  const template = keys.map((key) => [
    key,
    { agentMust: PROMPTS[key]?.agentMust, prompt: GREETING[key] ?? "" },
  ]);
  return `${JSON.stringify(Object.fromEntries(template), undefined, 2)}\n`;
}

function mapPrompts(map: (prompt: Prompt) => string): Prompts {
  return Object.fromEntries(
    Object.entries(PROMPTS).map(([key, prompt]) => [key, map(prompt)]),
  );
}
