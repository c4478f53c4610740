import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { oneLine } from "@devtool/internal/visible-text";
import type { AcpRegistryAgent } from "@devtool/schema/operator";
import {
  acpCommand,
  commandLine,
  readAcpRegistry,
} from "../agents/acp-registry.ts";
import { agentSpecs } from "../agents/agent-modules.ts";
import { operatorConfig } from "../agents/agent-options.ts";
import { readConfig } from "../config.ts";
import { defaultDataDirectory } from "../connection/discovery.ts";
import { errorCode, errorMessage, UsageError } from "../errors.ts";
import { ExitCode } from "../exit-code.ts";
import { type Io, interruptSignal, writeLine } from "../io.ts";
import { parseToml } from "../parse-toml.ts";
import { assertPrivateDirectory, writePrivateFile } from "../private-file.ts";
import { createQuestioner } from "../prompter.ts";
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
  const { words, source } = acpCommand(agent);
  const name = options.name ?? id;
  const path = join(data, "config.toml");
  const before = await textOf(path);
  const hasAgents = await assertFree(name, path, data);
  const added = configLines(name, words, registry, hasAgents);
  const text = `${before}${before === "" || before.endsWith("\n") ? "" : "\n"}${added}`;
  assertReads(text, path, added);
  for (const line of aboutLines(agent)) writeLine(io.stdout, line);
  writeLine(
    io.stdout,
    `\nIt runs with your rights, and ${words.includes("npx") ? "npx" : "uvx"} gets the package from ${source} when it starts first:\n\n  ${commandLine(words)}\n\nThese lines are for ${visibleName(path)}:\n\n${added.trimEnd()}\n`,
  );
  if (!yes && !(await agrees(io, interrupt.signal))) {
    writeLine(io.stderr, "nothing was written");
    return ExitCode.CANCELED;
  }
  await writePrivateFile(path, text);
  writeLine(io.stdout, `wrote ${visibleName(path)}: start the server again`);
  return ExitCode.OK;
}

async function textOf(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (reason) {
    if (errorCode(reason) === "ENOENT") return "";
    throw reason;
  }
}

/**
 * Throws for a name that another agent of the config file has, or nearly.
 * Returns whether the file lists agents.
 */
async function assertFree(
  name: string,
  path: string,
  data: string,
): Promise<boolean> {
  if (!/^[\w-]{1,50}$/.test(name)) {
    throw new UsageError(
      `name "${name}" is not 1 to 50 letters, digits, - and _: choose another one with --name`,
    );
  }
  const config = await readConfig(undefined, data);
  const specs = agentSpecs([], { config, directory: data });
  const taken = [
    ...specs.map((spec) => spec.name),
    ...config.remoteAgents.map((remote) => remote.name),
    ...(specs.length === 0 ? ["devtool"] : []),
  ];
  const plain = (text: string) => text.toLowerCase().replaceAll("-", "_");
  const other = taken.find((one) => plain(one) === plain(name));
  if (other === undefined) return specs.length > 0;
  throw new UsageError(
    `name "${name}" is that of agent "${other}" in ${visibleName(path)}, or nearly: choose another one with --name`,
  );
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

function assertReads(text: string, path: string, added: string): void {
  try {
    parseToml(text);
  } catch (reason) {
    throw new UsageError(
      `${visibleName(path)} cannot take further lines (${errorMessage(reason)}): write them yourself:\n${added}`,
    );
  }
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

/** Asks whether to write. Throws without a terminal. */
async function agrees(io: Io, signal: AbortSignal): Promise<boolean> {
  if (!io.interactive) {
    throw new UsageError("nobody can be asked: look at it, and add --yes");
  }
  const question = { prompt: "Add it? [y/N] > ", takesWords: false };
  const answer = await createQuestioner(io).ask(question, signal);
  return /^y(es)?$/i.test(answer?.text.trim() ?? "");
}
