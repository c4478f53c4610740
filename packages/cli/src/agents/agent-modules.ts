import { existsSync } from "node:fs";
import { basename, extname, resolve } from "node:path";
import { commandWords, findAcpProfile } from "@devtool/acp/profiles";
import { isObject } from "@devtool/internal/json";
import type { Agent } from "@devtool/server";
import { errorMessage } from "../errors.ts";
import { importOwn } from "../own-module.ts";
import type { AcpSource } from "./acp-agents.ts";
import type { OperatorConfig } from "./agent-options.ts";
import type { AgentPlace } from "./agent-programs.ts";
import { AGENT_PROGRAMS, CODEX } from "./known-programs.ts";
import { isWorkflowFile } from "./workflow-name.ts";

/** An agent that the operator configured. */
interface AgentSpec {
  /** The name by which clients choose it. */
  readonly name: string;
  /** Whether the operator gave the name. Else a workflow's own one counts. */
  readonly isNamed: boolean;
  readonly source: AgentSource;
  /** The flag or config field with its value, for errors. */
  readonly setting: string;
}

/** The implementation of a configured agent. */
type AgentSource =
  | { readonly case: "codingAgent" }
  /** The installed Codex, through its app-server. */
  | { readonly case: "codex" }
  /** A module, by its absolute path. */
  | { readonly case: "module"; readonly path: string }
  /** A workflow, by the absolute path of its file. */
  | { readonly case: "workflow"; readonly path: string }
  /** A program that speaks the Agent Client Protocol. */
  | ({ readonly case: "acp" } & AcpSource);

/**
 * Where an agent was named: the directory that paths are relative to, and the
 * words for errors.
 */
interface Naming {
  readonly directory: string;
  readonly setting: string;
}

/** The name that stands for the built-in coding agent in place of a module. */
const CODING_AGENT = "devtool";
/** The prefix of a command line that starts an agent. */
const ACP_PREFIX = "acp:";

const REMEDY = 'name a module that exports "agent" (docs/own-agent.md)';

/**
 * Returns the agents that the operator configured, the default first; empty
 * when there are none.
 *
 * The flags `--agent [NAME=]AGENT` replace those of the config file. Workspaces
 * configure no agents. Throws an error that names the wrong value.
 */
export function agentSpecs(
  flags: readonly string[] = [],
  { config, directory }: OperatorConfig,
): AgentSpec[] {
  const specs =
    flags.length > 0
      ? flags.map((flag) => {
          // A path that contains `=` needs `./` in front.
          const [, name = "", agent = ""] =
            /^(?:([\w-]+)=)?(.*)$/s.exec(flag) ?? [];
          return parseSpec(name, agent, {
            directory: ".",
            setting: `--agent "${flag}"`,
          });
        })
      : config.agents.map(({ name, module }) =>
          parseSpec(name, module, { directory, setting: `agents "${module}"` }),
        );
  const twice = specs.find(
    ({ name }, index) =>
      specs.findIndex((other) => other.name === name) !== index,
  );
  if (twice) {
    throw new Error(
      `${twice.setting} has the name "${twice.name}" of another agent: choose another name`,
    );
  }
  return specs;
}

/**
 * Returns the names by which clients choose one of several agents, the default
 * first; empty for one agent.
 */
export function choicesOf(agents: Readonly<Record<string, Agent>>): string[] {
  const names = Object.keys(agents);
  return names.length > 1 ? names : [];
}

function parseSpec(named: string, agent: string, naming: Naming): AgentSpec {
  const { setting } = naming;
  if (agent === "") throw new Error(`${setting} names no module: ${REMEDY}`);
  const source = parseSource(agent, naming);
  // A program is named for its file, everything else for the word that names
  // it.
  const path =
    source.case === "acp" && source.profile === undefined
      ? source.program
      : agent;
  const name = named || basename(path, extname(path)).replace(/\.mesh$/, "");
  if (!/^[\w-]+$/.test(name)) {
    throw new Error(
      `${setting} gives no name of letters, digits, - and _: name it (--agent NAME=MODULE, name = "NAME")`,
    );
  }
  return { name, isNamed: named !== "", setting, source };
}

function parseSource(
  agent: string,
  { directory, setting }: Naming,
): AgentSource {
  if (agent === CODING_AGENT) return { case: "codingAgent" };
  if (agent === CODEX.name) return { case: "codex" };
  const profile = findAcpProfile(agent);
  if (profile) {
    return {
      case: "acp",
      profile,
      program: profile.program,
      args: profile.args,
    };
  }
  if (isWorkflowFile(agent)) {
    return { case: "workflow", path: resolve(directory, agent) };
  }
  if (!agent.startsWith(ACP_PREFIX)) {
    return { case: "module", path: resolve(directory, agent) };
  }
  const [program, ...args] = commandWords(agent.slice(ACP_PREFIX.length));
  if (program === undefined) {
    throw new Error(
      `${setting} is not a command line: write ${ACP_PREFIX}PROGRAM ARGUMENTS, and end what is in quotes`,
    );
  }
  // A program's name is looked up in PATH. Paths are relative to where they
  // were written, not to a workspace.
  return {
    case: "acp",
    profile: undefined,
    program: program.includes("/") ? resolve(directory, program) : program,
    args: args.map((word) =>
      /^\.{1,2}\//.test(word) ? resolve(directory, word) : word,
    ),
  };
}

/** How `loadAgents` makes agents that are not modules. */
export interface AgentMakers {
  readonly codingAgent: () => Agent;
  /** Makes the agent of a workflow's file. */
  readonly workflow: (path: string) => Promise<Agent>;
  /** Gets notices for the operator, as plain text. */
  readonly onNotice: (text: string) => void;
  /**
   * Where the programs of agents are looked up, and how their permission
   * requests are answered.
   */
  readonly place: AgentPlace;
}

/**
 * Loads agents by name, in order; the coding agent when there are no specs.
 * Throws an error that names the one that cannot be loaded.
 *
 * @param job the files of workflows of a job. They come after the others, and
 * replace workflows of their name
 * @param workflows the files of workflows of the user, which come last. One that
 * cannot be used is left out, with a notice
 */
export async function loadAgents(
  specs: readonly AgentSpec[],
  makers: AgentMakers,
  job: readonly string[] = [],
  workflows: readonly string[] = [],
): Promise<Readonly<Record<string, Agent>>> {
  const agents = new Map<string, Agent>();
  const add = (name: string, agent: Agent, setting: string): void => {
    if (agents.has(name)) {
      throw new Error(
        `${setting} has the name "${name}" of another agent: choose another name`,
      );
    }
    agents.set(name, agent);
  };
  const flows = new Set<string>();
  if (specs.length === 0) agents.set(CODING_AGENT, makers.codingAgent());
  for (const spec of specs) {
    const agent = await makeAgent(spec, makers);
    const isFlow = spec.source.case === "workflow";
    const name = isFlow && !spec.isNamed ? agent.about.name : spec.name;
    add(name, agent, spec.setting);
    if (isFlow) flows.add(name);
  }
  for (const path of job) {
    const agent = await makers.workflow(path);
    const { name } = agent.about;
    if (flows.has(name)) agents.delete(name);
    add(name, agent, `workflow file "${path}"`);
  }
  for (const path of workflows) {
    if (job.includes(path)) continue;
    try {
      const agent = await makers.workflow(path);
      add(agent.about.name, agent, `workflow file "${path}"`);
    } catch (reason) {
      makers.onNotice(`${errorMessage(reason)}; it is left out`);
    }
  }
  return Object.fromEntries(agents);
}

async function makeAgent(
  { name, source, setting }: AgentSpec,
  { codingAgent, workflow, place }: AgentMakers,
): Promise<Agent> {
  switch (source.case) {
    case "codingAgent":
      return codingAgent();
    case "codex": {
      const { createCodexAgent } = await import("./codex-agents.ts");
      return withIde(await createCodexAgent({ ...place, setting }), place);
    }
    case "module":
      return loadAgent(source.path, setting);
    case "workflow":
      return workflow(source.path);
    case "acp": {
      const { createAcpAgent } = await import("./acp-agents.ts");
      const here = { ...place, setting };
      return withIde(await createAcpAgent(name, source, here), place);
    }
    default:
      return source satisfies never;
  }
}

/** Gives an agent that is told of the editor the commands for that. */
async function withIde(agent: Agent, { ide }: AgentPlace): Promise<Agent> {
  if (!ide) return agent;
  const { withIdeCommands } = await import("./ide-commands.ts");
  return withIdeCommands(agent, ide);
}

/**
 * Imports the agent of a module. Throws an error with the remedy for a file
 * that is missing, unsafe or has no agent.
 */
async function loadAgent(path: string, setting: string): Promise<Agent> {
  // A word without a dot is more likely the name of an agent than a file.
  if (!/[./]/.test(basename(path)) && !existsSync(path)) {
    const names = [
      CODING_AGENT,
      ...AGENT_PROGRAMS.map(({ name }) => name),
    ].join(", ");
    const remedy = `choose ${names}, write ${ACP_PREFIX}COMMAND (docs/agents.md), or ${REMEDY}`;
    throw new Error(
      `${setting} is not a file and not a known agent: ${remedy}`,
    );
  }
  const exported = await importOwn(path, setting, REMEDY);
  if (!("agent" in exported)) {
    const names = Object.keys(exported).join(", ") || "nothing";
    throw new Error(
      `${setting} exports no "agent", only ${names}: write \`export const agent = …\` (docs/own-agent.md)`,
    );
  }
  const { agent } = exported;
  if (isAgent(agent)) return agent;
  throw new Error(
    `${setting} exports an "agent" that is not an Agent: give it about.name, about.description and open() (docs/own-agent.md)`,
  );
}

function isAgent(value: unknown): value is Agent {
  return (
    isObject(value) &&
    typeof value.open === "function" &&
    isObject(value.about) &&
    typeof value.about.name === "string" &&
    typeof value.about.description === "string"
  );
}
