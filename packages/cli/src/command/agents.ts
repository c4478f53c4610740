import { mkdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import { oneLine } from "@devtool/internal/visible-text";
import type { AcpRegistryAgent } from "@devtool/schema/operator";
import {
  acpCommand,
  commandLine,
  readAcpRegistry,
  startedIn,
} from "../agents/acp-registry.ts";
import { agentSpecs } from "../agents/agent-modules.ts";
import { operatorConfig } from "../agents/agent-options.ts";
import { readConfig } from "../config.ts";
import { addToConfig, assertNewName } from "../config-addition.ts";
import { defaultDataDirectory } from "../connection/discovery.ts";
import { UsageError } from "../errors.ts";
import { ExitCode } from "../exit-code.ts";
import { type Io, interruptSignal, writeLine } from "../io.ts";
import { assertPrivateDirectory } from "../private-file.ts";
import { visibleName } from "../render/style.ts";

/** The options of `devtool agents list`. */
interface ListOptions {
  readonly data?: string;
  /** The registry: a file, or an https URL. */
  readonly registry?: string;
}

/** The options of `devtool agents add`. */
interface AddOptions extends ListOptions {
  readonly registry: string;
  /** The name by which clients choose the agent. Default: its id. */
  readonly name?: string;
  /** Whether to write without asking. */
  readonly yes?: true;
}

/**
 * `devtool agents list`: lists the agents of the config file, or those of a
 * registry and how each can be added.
 */
export async function listAgents(
  { data: named, registry }: ListOptions,
  io: Io,
): Promise<number> {
  if (registry === undefined) {
    const data = named ?? defaultDataDirectory(io.env);
    const { config } = await operatorConfig(undefined, data);
    const agents = [
      ...config.agents.map(({ name, module }) => [name || module, module]),
      ...config.remoteAgents.map(({ name, url }) => [name, url]),
    ];
    for (const [name = "", what = ""] of agents) {
      writeLine(io.stdout, `${visibleName(name)}  ${visibleName(what)}`);
    }
    if (agents.length === 0) {
      writeLine(io.stderr, "no agents in the config file: devtool is served");
    }
    return ExitCode.OK;
  }
  using interrupt = interruptSignal(io);
  const { agents, leftOut } = await readAcpRegistry(registry, interrupt.signal);
  for (const agent of agents) {
    const { id, name, version, description } = agent;
    const line = [id, version, name, description, wayOf(agent)];
    writeLine(io.stdout, line.map((text) => oneLine(text)).join("  "));
  }
  for (const why of leftOut) writeLine(io.stderr, oneLine(why));
  return leftOut.length === 0 ? ExitCode.OK : ExitCode.FAILED;
}

/** Says by what an agent is added, or that it cannot be. */
function wayOf(agent: AcpRegistryAgent): string {
  try {
    const { source, packageName } = acpCommand(agent);
    return `(${source}: ${packageName})`;
  } catch {
    return "(cannot be added)";
  }
}

/**
 * `devtool agents add`: shows what an agent of a registry would run, and writes
 * it into `config.toml` when the user agrees. Runs nothing.
 */
export async function addAgent(
  id: string,
  { data: named, registry, yes, ...options }: AddOptions,
  io: Io,
): Promise<number> {
  const data = resolve(named ?? defaultDataDirectory(io.env));
  await assertPrivateDirectory(data);
  using interrupt = interruptSignal(io);
  const { agents } = await readAcpRegistry(registry, interrupt.signal);
  const agent = agents.find((one) => one.id === id);
  if (!agent) {
    const ids = agents.map((one) => one.id).join(", ") || "none";
    throw new UsageError(`agent "${id}" is not in the registry: choose ${ids}`);
  }
  const { words: own, runner, source } = acpCommand(agent);
  const directory = join(data, "agents");
  const words = startedIn(directory, own);
  const name = options.name ?? id;
  const hasAgents = await assertFree(name, data);
  for (const line of aboutLines(agent)) writeLine(io.stdout, line);
  const code = await addToConfig(
    {
      data,
      added: configLines(name, words, registry, hasAgents),
      about: `\nIt runs with your rights, and ${runner} gets the package from ${source} when it starts first:\n\n  ${commandLine(words)}`,
      yes,
    },
    io,
    interrupt.signal,
  );
  if (code === ExitCode.OK) {
    await mkdir(directory, { recursive: true, mode: 0o700 });
  }
  return code;
}

/**
 * Throws for a name that another agent of the config file has, or nearly.
 * Returns whether the file lists agents.
 */
async function assertFree(name: string, data: string): Promise<boolean> {
  const config = await readConfig(undefined, data);
  const specs = agentSpecs([], { config, directory: data });
  const taken = [
    ...specs.map((spec) => spec.name),
    ...config.remoteAgents.map((remote) => remote.name),
    ...(specs.length === 0 ? ["devtool"] : []),
  ];
  assertNewName(name, taken, {
    what: "agent",
    remedy: "choose another one with --name",
  });
  return specs.length > 0;
}

function configLines(
  name: string,
  words: readonly string[],
  registry: string,
  hasAgents: boolean,
): string {
  return [
    // Without a list, devtool's own agent is served: it stays the default.
    ...(hasAgents ? [] : ["[[agents]]", 'module = "devtool"', ""]),
    `# From the registry ${oneLine(registry)}.`,
    "[[agents]]",
    `name = ${JSON.stringify(name)}`,
    `module = ${JSON.stringify(`acp:${commandLine(words)}`)}`,
    "",
  ].join("\n");
}

function* aboutLines(agent: AcpRegistryAgent): Iterable<string> {
  const { id, name, version, description, repository, authors, license } =
    agent;
  const rows: readonly (readonly [string, string])[] = [
    ["id", id],
    ["name", name],
    ["version", version],
    ["description", description],
    ["repository", repository],
    ["authors", authors.join(", ")],
    ["license", license],
  ];
  for (const [field, value] of rows) {
    yield `${`${field}:`.padEnd(13)} ${oneLine(value) || "not said"}`;
  }
}
