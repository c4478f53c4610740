import type { JsonObject } from "@bufbuild/protobuf";
import type { AgentMesh } from "@devtool/schema";
import { Code, DevtoolError, quoted } from "@devtool/server/agent";
import type { MeshConversation } from "./mesh-conversation.ts";

/** A message, as far as it decides who gets it. */
export interface RoutedMessage {
  /** What the agent is told: without `@NAME` in front. */
  readonly text: string;
  /** Data for the agent: without `agent` and `skill`. */
  readonly data: JsonObject;
  /** The agent that the message names. Empty for none. */
  readonly agent: string;
  /** The skill that the message asks for. Empty for none. */
  readonly skill: string;
}

/** The agents that may have a message. */
export interface Picked {
  /** Their names, the preferred one first. */
  readonly names: readonly string[];
  /** The rule that picked them. Empty where none did. */
  readonly rule: string;
  /** Why they were picked, for people. */
  readonly reason: string;
}

/** Returns what a message, of a text and its data, asks for. */
export function routedMessage(text: string, data: JsonObject): RoutedMessage {
  const [mention = "", name = ""] = /^\s*@([\w-]+)(?:\s+|$)/.exec(text) ?? [];
  const { agent = "", skill = "", ...others } = data;
  return {
    text: text.slice(mention.length),
    data: others,
    agent: name || textOf("agent", agent),
    skill: textOf("skill", skill),
  };
}

function textOf(field: string, value: JsonObject[string]): string {
  if (typeof value === "string") return value;
  throw new DevtoolError(
    `${quoted(field)} of the message's data is not a text`,
    Code.InvalidArgument,
    { remedy: "write a name" },
  );
}

/**
 * Returns the agents that may have a message.
 *
 * Throws `Code.InvalidArgument` where there are none: the error names those
 * that there are.
 *
 * @param conversation what was said before the message
 */
export function pickAgents(
  { agents, rules, otherwise }: AgentMesh,
  { text, agent, skill }: RoutedMessage,
  {
    agent: before,
    refersElsewhere,
  }: Pick<MeshConversation, "agent" | "refersElsewhere">,
): Picked {
  const names = agents.map(({ name }) => name);
  if (agent !== "") {
    if (names.includes(agent)) {
      return { names: [agent], rule: "", reason: "the message names it" };
    }
    throw none(`agent ${quoted(agent)} is not here`, names);
  }
  if (skill !== "") {
    const able = agents.filter(({ skills }) => skills.includes(skill));
    if (able.length > 0) {
      return {
        names: able.map(({ name }) => name),
        rule: "",
        reason: `the message asks for the skill ${quoted(skill)}`,
      };
    }
    const skills = new Set(agents.flatMap((one) => one.skills));
    throw none(`no agent has the skill ${quoted(skill)}`, [...skills]);
  }
  if (names.includes(before)) {
    return { names: [before], rule: "", reason: "it answered before" };
  }
  const rule = rules.find((one) => holds(one, text));
  if (rule) {
    const { id } = rule;
    return { names: rule.agents, rule: id, reason: `rule ${quoted(id)}` };
  }
  const reason = refersElsewhere
    ? "no rule holds, and no task that the message refers to is an ended one of its contextId"
    : "no rule holds";
  if (otherwise.length > 0) return { names: otherwise, rule: "", reason };
  const mentions = names.map((name) => `@${name}`);
  throw none(reason, [
    ...(refersElsewhere ? ["the contextId of that task"] : []),
    ...mentions,
  ]);
}

/** Returns the words of a text in lower case, as blanks and signs part them. */
export function wordsIn(text: string): readonly string[] {
  return text.toLowerCase().match(/[\p{L}\p{M}\p{N}_-]+/gu) ?? [];
}

/** Scripts that are written without blanks between words, such as Chinese. */
const UNSPACED =
  /[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Thai}\p{sc=Laoo}\p{sc=Khmr}\p{sc=Mymr}]/u;

/**
 * Whether a text has one of some words, in any case: as a whole, or anywhere if
 * the word is of a script without blanks.
 */
export function hasOneOf(text: string, words: readonly string[]): boolean {
  const plain = text.toLowerCase();
  const found = new Set(wordsIn(text));
  return words.some((each) => {
    const word = each.toLowerCase();
    return found.has(word) || (UNSPACED.test(word) && plain.includes(word));
  });
}

function holds(
  { startsWith, words }: AgentMesh["rules"][number],
  text: string,
): boolean {
  const plain = text.trim().toLowerCase();
  return (
    plain.startsWith(startsWith.toLowerCase()) &&
    (words.length === 0 || hasOneOf(text, words))
  );
}

function none(problem: string, choices: readonly string[]): DevtoolError {
  return new DevtoolError(problem, Code.InvalidArgument, {
    remedy:
      choices.length === 0
        ? "send it to another agent"
        : `choose ${choices.join(", ")}`,
  });
}
