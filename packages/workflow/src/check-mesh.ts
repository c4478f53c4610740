import { durationMs } from "@bufbuild/protobuf/wkt";
import {
  type AgentMesh,
  AgentMeshSchema,
  decodeStrictJson,
} from "@devtool/schema";
import { Code, DevtoolError, quoted } from "@devtool/server/agent";
import { readFile } from "./read-file.ts";

const NAME = /^[\w-]{1,50}$/;
const MAX_AGENTS = 100;

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
  if (firstEventTimeout && !(durationMs(firstEventTimeout) > 0)) {
    throw wrong(
      `first_event_timeout is ${durationMs(firstEventTimeout) / 1000} s`,
      'write a time above zero, such as "30s"',
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
  for (const { id, agents, startsWith, words } of rules) {
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
    if (words.some((word) => word.trim() === "")) {
      throw wrong(`${what} has an empty word`, "take it away");
    }
  }
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
