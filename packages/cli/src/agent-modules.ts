import { stat } from "node:fs/promises";
import { basename, extname, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { Agent } from "@devtool/server";
import type { OperatorConfig } from "./agent-options.ts";

/** An agent that the operator configured. */
export interface AgentSpec {
  /** The name by which clients choose it. */
  readonly name: string;
  /** The absolute path of its module; undefined for the built-in coding agent. */
  readonly path: string | undefined;
  /** The flag or config field with its value, for errors. */
  readonly said: string;
}

/** The name that stands for the built-in coding agent in place of a module. */
const CODING_AGENT = "devtool";

const REMEDY = 'name a module that exports "agent" (docs/own-agent.md)';

/**
 * Returns the agents that the operator configured, the default first; empty when there are none.
 *
 * The flags `--agent [NAME=]MODULE` replace those of the config file. Workspaces configure no agents. Throws an error that names the
 * wrong value.
 */
export function agentSpecs(flags: readonly string[] = [], { config, directory }: OperatorConfig): AgentSpec[] {
  const specs =
    flags.length > 0
      ? flags.map(specOfFlag)
      : config.agents.map(({ name, module }) => specOf(name, module, { directory, said: `agents "${module}"` }));
  const twice = specs.find(({ name }, index) => specs.findIndex((other) => other.name === name) !== index);
  if (twice) throw new Error(`${twice.said} has the name "${twice.name}" of another agent: choose another name`);
  return specs;
}

/** Parses `NAME=MODULE` or `MODULE`. A path that contains `=` needs `./` in front. */
function specOfFlag(flag: string): AgentSpec {
  const [, name = "", module = ""] = /^(?:([\w-]+)=)?(.*)$/s.exec(flag) ?? [];
  return specOf(name, module, { directory: ".", said: `--agent "${flag}"` });
}

function specOf(
  named: string,
  module: string,
  { directory, said }: { readonly directory: string; readonly said: string },
): AgentSpec {
  if (module === "") throw new Error(`${said} names no module: ${REMEDY}`);
  const name = named || basename(module, extname(module));
  if (!/^[\w-]+$/.test(name)) {
    throw new Error(`${said} gives no name of letters, digits, - and _: name it (--agent NAME=MODULE, name = "NAME")`);
  }
  return { name, said, path: module === CODING_AGENT ? undefined : resolve(directory, module) };
}

/** Loads agents by name, in order; only the coding agent when there are no specs. Throws an error that names the one that cannot be loaded. */
export async function loadAgents(
  specs: readonly AgentSpec[],
  codingAgent: () => Agent,
): Promise<Readonly<Record<string, Agent>>> {
  if (specs.length === 0) return { [CODING_AGENT]: codingAgent() };
  const agents: [string, Agent][] = [];
  for (const { name, path, said } of specs) {
    agents.push([name, path === undefined ? codingAgent() : await loadAgent(path, said)]);
  }
  return Object.fromEntries(agents);
}

async function loadAgent(path: string, said: string): Promise<Agent> {
  await assertOwn(path, said);
  const loaded: unknown = await import(pathToFileURL(path).href).catch((reason: unknown) => {
    throw new Error(`${said} cannot be loaded: ${messageOf(reason)}`, { cause: reason });
  });
  const exported = exportsOf(loaded);
  if (!("agent" in exported)) {
    const names = Object.keys(exported).join(", ") || "nothing";
    throw new Error(`${said} exports no "agent", only ${names}: write \`export const agent = …\` (docs/own-agent.md)`);
  }
  const { agent } = exported;
  if (isAgent(agent)) return agent;
  throw new Error(
    `${said} exports an "agent" that is not an Agent: give it about.name, about.description and open() (docs/own-agent.md)`,
  );
}

/** Asserts that nobody but root and this user can change a module, since it runs with this user's rights. */
async function assertOwn(path: string, said: string): Promise<void> {
  const found = await stat(path).catch((reason: unknown) => {
    throw new Error(`${said} cannot be read: ${messageOf(reason)}: ${REMEDY}`);
  });
  if (!found.isFile()) throw new Error(`${said} is not a file: ${REMEDY}`);
  if ((found.mode & 0o002) !== 0) throw new Error(`${said} may be changed by everybody: chmod o-w it`);
  if (found.uid !== 0 && found.uid !== process.getuid?.()) {
    throw new Error(`${said} belongs to another user: look at what it does, and chown it`);
  }
}

function exportsOf(loaded: unknown): Readonly<Record<string, unknown>> {
  return typeof loaded === "object" && loaded !== null ? { ...loaded } : {};
}

function isAgent(value: unknown): value is Agent {
  if (typeof value !== "object" || value === null || !("about" in value) || !("open" in value)) return false;
  const { about, open } = value;
  if (typeof open !== "function" || typeof about !== "object" || about === null) return false;
  return (
    "name" in about && typeof about.name === "string" && "description" in about && typeof about.description === "string"
  );
}

function messageOf(reason: unknown): string {
  return reason instanceof Error ? reason.message : String(reason);
}
