import { durationMs } from "@bufbuild/protobuf/wkt";
import {
  type AgentMesh,
  AgentMeshSchema,
  decodeStrictJson,
} from "@devtool/schema";
import { Code, DevtoolError, quoted } from "@devtool/server/agent";
import { hasOneOf, wordsIn } from "./pick-agents.ts";
import { readFile } from "./read-file.ts";

const NAME = /^[\w-]{1,50}$/;
const MAX_AGENTS = 100;
/** A timer of Node with some 25 days or more ends at once. */
const MAX_TIMEOUT_MS = 24 * 24 * 60 * 60_000;

/**
 * Reads a mesh of agents from a text of YAML or TOML, and checks it.
 *
 * Throws `Code.InvalidArgument` with the name of the file for a text that
 * is not a valid mesh.
 *
 * @param file the name of the file: its ending says what the text is written in,
 * and the rest names a mesh that has no name
 */
export function readMesh(text: string, file: string): AgentMesh {
  return readFile(text, file, {
    what: "mesh",
    read: (fields) =>
      decodeStrictJson(AgentMeshSchema, fields, "", { spelling: "name" }),
    check: checkMesh,
  });
}

/**
 * Throws `Code.InvalidArgument` for a mesh that cannot route: the error names
 * the value and what to do.
 */
export function checkMesh(mesh: AgentMesh): void {
  const { name, agents, rules, otherwise, firstEventTimeout } = mesh;
  checkName("name", name);
  checkAgents(agents, name);
  const names = agents.map(({ name: each }) => each);
  checkRules(rules, names);
  checkKnown("otherwise", otherwise, names);
  const timeoutMs = firstEventTimeout ? durationMs(firstEventTimeout) : 1;
  if (!(timeoutMs > 0 && timeoutMs <= MAX_TIMEOUT_MS)) {
    throw wrong(
      `first_event_timeout is ${timeoutMs / 1000} s`,
      'write a time above zero and up to 24 days, such as "30s"',
    );
  }
}

function checkAgents(agents: AgentMesh["agents"], mesh: string): void {
  if (agents.length === 0 || agents.length > MAX_AGENTS) {
    throw wrong(
      `it has ${agents.length} agents`,
      `write 1 to ${MAX_AGENTS} under agents`,
    );
  }
  checkOnce(
    "an",
    "agent",
    agents.map(({ name }) => name),
  );
  for (const { name, skills, concurrency = 1 } of agents) {
    if (name === mesh) {
      throw wrong(
        `agent ${quoted(name)} is the mesh itself`,
        "name it otherwise, or take the agent away",
      );
    }
    for (const skill of skills) checkName(`a skill of ${quoted(name)}`, skill);
    if (concurrency < 1 || concurrency > 1000) {
      throw wrong(
        `agent ${quoted(name)} has concurrency ${concurrency}`,
        "write a number from 1 to 1000",
      );
    }
  }
}

function checkRules(rules: AgentMesh["rules"], names: readonly string[]): void {
  checkOnce(
    "a",
    "rule",
    rules.map(({ id }) => id),
  );
  for (const [index, rule] of rules.entries()) {
    const { id, agents, startsWith, words } = rule;
    const what = `rule ${quoted(id)}`;
    if (agents.length === 0) {
      throw wrong(`${what} has no agents`, `choose ${names.join(", ")}`);
    }
    checkKnown(what, agents, names);
    if (startsWith === "" && words.length === 0) {
      throw wrong(
        `${what} has no condition`,
        "write starts_with or words, or its agents under otherwise",
      );
    }
    if (startsWith !== startsWith.trimStart()) {
      throw wrong(
        `${what} has a blank in front of starts_with, where no text has one`,
        "take it away",
      );
    }
    const word = words.find((one) => wordsIn(one)[0] !== one.toLowerCase());
    if (word !== undefined) {
      throw wrong(
        `${what} has ${quoted(word)} among its words, which is never found`,
        "write one word of letters, digits, - and _, or use starts_with",
      );
    }
    const before = rules.slice(0, index).find((one) => covers(one, rule));
    if (before) {
      throw wrong(
        `${what} is never reached, since rule ${quoted(before.id)} holds for all of its texts`,
        "put it in front of that one, or take it away",
      );
    }
  }
}

/** Whether a rule holds for every text for which another one does. */
function covers(
  one: AgentMesh["rules"][number],
  other: AgentMesh["rules"][number],
): boolean {
  const start = one.startsWith.toLowerCase();
  return (
    other.startsWith.toLowerCase().startsWith(start) &&
    (one.words.length === 0 ||
      (other.words.length > 0 &&
        other.words.every((word) => hasOneOf(word, one.words))))
  );
}

function checkName(what: string, name: string): void {
  if (NAME.test(name)) return;
  throw wrong(
    `${what} is ${quoted(name)}, which is not 1 to 50 letters, digits, - and _`,
    "write another one",
  );
}

/** Names that differ in case, `-` and `_` alone look the same to a reader. */
function checkOnce(
  article: "a" | "an",
  what: string,
  names: readonly string[],
): void {
  const seen = new Map<string, string>();
  for (const name of names) {
    checkName(`the name of ${article} ${what}`, name);
    const plain = name.toLowerCase().replaceAll("-", "_");
    const other = seen.get(plain);
    if (other !== undefined) {
      throw wrong(
        `${what} ${quoted(name)} has the name of ${quoted(other)}, or nearly`,
        "choose another name",
      );
    }
    seen.set(plain, name);
  }
}

function checkKnown(
  what: string,
  wanted: readonly string[],
  names: readonly string[],
): void {
  const unknown = wanted.find((name) => !names.includes(name));
  if (unknown === undefined) return;
  throw wrong(
    `${what} names agent ${quoted(unknown)}, which is not among its agents`,
    `choose ${names.join(", ")}`,
  );
}

function wrong(problem: string, remedy: string): DevtoolError {
  return new DevtoolError(`mesh: ${problem}`, Code.InvalidArgument, { remedy });
}
