import { homedir } from "node:os";
import { resolve } from "node:path";
import type { JsonObject } from "@bufbuild/protobuf";
import { oneLine } from "@devtool/internal/visible-text";
import { assertUsable, runnerNotice, serverPlace } from "@devtool/mcp/operator";
import { decodeStrictJson, McpServerSchema } from "@devtool/schema";
import { readConfig } from "../config.ts";
import { addToConfig, assertNewName } from "../config-addition.ts";
import { defaultDataDirectory } from "../connection/discovery.ts";
import { errorMessage, UsageError } from "../errors.ts";
import { ExitCode } from "../exit-code.ts";
import { type Io, interruptSignal, writeLine } from "../io.ts";
import { importServer } from "../mcp/foreign-server.ts";
import { serverToml } from "../mcp/server-toml.ts";
import { Variables } from "../mcp/variables.ts";
import { assertPrivateDirectory } from "../private-file.ts";
import { visibleName } from "../render/style.ts";

/** The options of `devtool mcp list`. */
interface ListOptions {
  readonly data?: string;
  readonly config?: string;
}

/** The options of `devtool mcp add`. */
interface AddOptions extends Pick<ListOptions, "data"> {
  readonly url?: string;
  /** As `NAME=value`, or `NAME` for a variable of devtool's environment. */
  readonly env?: readonly string[];
  /** As `Name: value`. */
  readonly header?: readonly string[];
  /** Whether to write without asking. */
  readonly yes?: true;
}

/**
 * `devtool mcp list`: lists the MCP servers of the config file, without
 * secrets. Starts none.
 */
export async function listMcpServers(
  { data, config: named }: ListOptions,
  io: Io,
): Promise<number> {
  const directory = resolve(data ?? defaultDataDirectory(io.env));
  const { mcpServers } = await readConfig(named, directory, UNREPLACED);
  for (const server of mcpServers) {
    const { name } = server;
    const place = serverPlace(server, "operator");
    writeLine(io.stdout, `${visibleName(name)}  ${visibleName(place)}`);
  }
  if (mcpServers.length === 0) {
    writeLine(io.stderr, "no MCP servers in the config file");
  }
  return ExitCode.OK;
}

/** An environment in which each variable stands for itself. */
const UNREPLACED: Readonly<Record<string, string>> = new Proxy(
  {},
  { get: (_none, name) => `\${${String(name)}}` },
);

/**
 * `devtool mcp add`: shows an MCP server, with variables in place of secrets,
 * and writes it into `config.toml` when the user agrees. Starts nothing.
 */
export async function addMcpServer(
  name: string,
  command: readonly string[],
  { data: named, yes, ...options }: AddOptions,
  io: Io,
): Promise<number> {
  const data = resolve(named ?? defaultDataDirectory(io.env));
  await assertPrivateDirectory(data);
  using interrupt = interruptSignal(io);
  const { mcpServers } = await readConfig(undefined, data, UNREPLACED);
  assertNewName(
    name,
    mcpServers.map((server) => server.name),
    { what: "MCP server", remedy: "choose another one" },
  );
  const { server: json, variables } = readServer(name, command, options, io);
  const server = decodeStrictJson(McpServerSchema, json, "", {
    spelling: "name",
  });
  assertUsable([server]);
  const runs =
    server.transport.case === "stdio"
      ? "It runs with your rights where sessions work:"
      : "Agents send it the arguments of their calls:";
  const about = [
    `${runs}\n\n  ${visibleName(serverPlace(server, "operator"))}`,
    ...[runnerNotice(server)].filter((notice) => notice !== undefined),
    ...[...variables.places].map(
      ([variable, place]) =>
        `Set the variable ${variable} where devtool runs: ${oneLine(place)}`,
    ),
  ].join("\n\n");
  return await addToConfig(
    { data, added: `\n${serverToml(json)}`, about, yes },
    io,
    interrupt.signal,
  );
}

/** Returns a server as `config.toml` has it, and the variables that it needs. */
function readServer(
  name: string,
  [command, ...args]: readonly string[],
  { url, env = [], header = [] }: AddOptions,
  io: Io,
): { readonly server: JsonObject; readonly variables: Variables } {
  if ((url === undefined) === (command === undefined)) {
    throw new UsageError(
      `MCP server "${name}" needs --url URL, or a command behind --, as in: devtool mcp add ${name} -- npx -y PACKAGE`,
    );
  }
  const [extra, where] =
    url === undefined ? [header, "--header"] : [env, "--env"];
  if (extra.length > 0) {
    const takes =
      url === undefined ? "a command takes --env" : "a URL takes --header";
    throw new UsageError(`${where} is not for MCP server "${name}": ${takes}`);
  }
  const variables = new Variables(io.env.HOME || homedir());
  const file = {
    path: "the command line",
    servers: {},
    ofProjects: [],
    isSwitchedOff: () => false,
    inputs: new Map<string, string>(),
    hasBareVariables: false,
  };
  const entry =
    url === undefined
      ? {
          command: command ?? "",
          args,
          env: pairsOf(env, ENV, "--env NAME=value"),
        }
      : { url, headers: pairsOf(header, HEADER, '--header "Name: value"') };
  try {
    const { server } = importServer(name, entry, file, variables);
    return { server, variables };
  } catch (reason) {
    throw new UsageError(
      `MCP server "${name}" cannot be added: ${errorMessage(reason)}`,
    );
  }
}

/** `NAME` alone is the variable of that name. */
const ENV = /^(\w+)(?:=(.*))?$/s;
const HEADER = /^([\w-]+):\s*(.*)$/s;

function pairsOf(
  texts: readonly string[],
  form: RegExp,
  written: string,
): Record<string, string> {
  const pairs = texts.map((text) => {
    const [, name, value = `\${${name}}`] = form.exec(text) ?? [];
    // The text may be a secret.
    if (name === undefined) throw new UsageError(`write ${written}`);
    return [name, value] as const;
  });
  return Object.fromEntries(pairs);
}
