import { isAbsolute } from "node:path";
import type {
  McpServer as AcpMcpServer,
  HttpHeader,
  SessionConfigOption,
  SessionModeState,
} from "@agentclientprotocol/sdk";
import { create } from "@bufbuild/protobuf";
import {
  ApprovalMode,
  type McpServer,
  McpServerSchema,
  oneLine,
} from "@devtool/schema";
import { invalidParams } from "./errors.ts";
import { isFollowed, type Port, type PortAgent } from "./port.ts";
import type { SessionChoices } from "./session-choices.ts";

/**
 * The approval modes that a client may choose, by their ids in ACP. The others
 * are the operator's alone.
 */
const MODES = [
  {
    id: "server",
    mode: ApprovalMode.UNSPECIFIED,
    name: "Server default",
    description: "The operator's mode.",
  },
  {
    id: "default",
    mode: ApprovalMode.DEFAULT,
    name: "Ask",
    description: "Asks before anything that changes the machine.",
  },
  {
    id: "plan",
    mode: ApprovalMode.PLAN,
    name: "Plan",
    description: "Denies everything that changes the machine.",
  },
] as const;

/**
 * Returns the modes of a session; undefined for an agent that follows none. A
 * mode that only operators can choose is shown as the server's.
 */
export function modeState(
  current: ApprovalMode,
  agent: PortAgent,
): SessionModeState | undefined {
  if (!isFollowed(agent, "approval_mode")) return undefined;
  const availableModes = MODES.map(({ id, name, description }) => ({
    id,
    name,
    description,
  }));
  return {
    currentModeId: MODES.find(({ mode }) => mode === current)?.id ?? "server",
    availableModes,
  };
}

/**
 * Returns the approval mode with an id of `modeState`. Throws for another id,
 * and for a mode of an agent that follows none.
 */
export function modeOf(modeId: string, agent: PortAgent): ApprovalMode {
  if (modeId !== "server" && !isFollowed(agent, "approval_mode")) {
    throw invalidParams(
      `mode ${JSON.stringify(modeId)} cannot be used: the agent ${JSON.stringify(agent.name)} has no modes`,
    );
  }
  const found = MODES.find(({ id }) => id === modeId);
  if (found) return found.mode;
  const known = MODES.map(({ id }) => id).join(", ");
  throw invalidParams(
    `mode ${JSON.stringify(modeId)} does not exist: choose ${known}`,
  );
}

/**
 * The id of the option that chooses the model, and the value that leaves the
 * choice to the server.
 */
export const MODEL_OPTION = "model";
const SERVER_MODEL = "server";

/** The id of the option that chooses the agent. */
const AGENT_OPTION = "agent";

/**
 * Returns the options of a session. There are none without agents or models to
 * choose from.
 *
 * @param models those that its agent may be given
 */
export function configOptions(
  { agent, model }: Pick<SessionChoices, "agent" | "model">,
  { agents = new Map(), models }: Offers,
): SessionConfigOption[] {
  const options: SessionConfigOption[] = [];
  const names = [...agents.keys()];
  if (names.length > 1) {
    const known = names.includes(agent) ? names : [agent, ...names];
    const values = known.map((name) => ({ value: name, name }));
    const about = { id: AGENT_OPTION, name: "Agent", category: "_agent" };
    options.push({
      type: "select",
      ...about,
      currentValue: agent,
      options: values,
    });
  }
  if (models.length > 0) {
    const known =
      model === "" || models.includes(model) ? models : [model, ...models];
    const values = known.map((name) => ({ value: name, name }));
    const about = { id: MODEL_OPTION, name: "Model", category: "model" };
    const server = { value: SERVER_MODEL, name: "The server's model" };
    options.push({
      type: "select",
      ...about,
      currentValue: model || SERVER_MODEL,
      options: [server, ...values],
    });
  }
  return options;
}

/** The values that a client may choose from. */
export interface Offers {
  readonly agents?: Port["agents"];
  readonly models: readonly string[];
}

/**
 * Returns the model that a value of the model option names; empty for the
 * server's. Throws for a value that is not offered.
 */
export function modelOf(value: unknown, models: readonly string[]): string {
  if (value === SERVER_MODEL) return "";
  const found = models.find((name) => name === value);
  if (found !== undefined) return found;
  throw invalidParams(
    `model ${JSON.stringify(value)} is not offered: choose ${[SERVER_MODEL, ...models].join(", ")}`,
  );
}

/**
 * Returns the agent that a value of the agent option names. Throws for one that
 * is not offered.
 */
export function agentOf(value: unknown, agents: Port["agents"]): string {
  const names = [...(agents?.keys() ?? [])];
  const found = names.find((name) => name === value);
  if (found !== undefined) return found;
  throw invalidParams(
    `agent ${JSON.stringify(value)} is not offered: choose ${names.join(", ")}`,
  );
}

/** Throws for a working directory that is not an absolute path. */
export function assertAbsolute(cwd: string): void {
  if (isAbsolute(cwd)) return;
  throw invalidParams(
    `cwd ${JSON.stringify(cwd)} is not an absolute path: send the full path of the directory`,
  );
}

/**
 * Throws if a client names directories besides `cwd`: a session of the port
 * works in one.
 */
export function assertNoMoreDirectories(
  directories: readonly string[] | undefined,
): void {
  const [first] = directories ?? [];
  if (first === undefined) return;
  throw invalidParams(
    `additionalDirectories ${JSON.stringify(first)} is not supported: leave it out, or choose a cwd that holds it`,
  );
}

/** The MCP servers that a client brings. */
export interface BroughtServers {
  readonly servers: readonly McpServer[];
  /** Why others cannot be used, for the user. */
  readonly problems: readonly string[];
}

/**
 * Returns the MCP servers that a client brings. One that cannot be used is left
 * out: editors bring their user's servers to every agent.
 */
export function mcpServersFrom(
  brought: readonly AcpMcpServer[],
  agent: PortAgent,
): BroughtServers {
  const servers = new Map<string, McpServer>();
  const problems: string[] = [];
  for (const server of brought) {
    const problem = servers.has(server.name)
      ? "its name is used twice"
      : serverProblem(server, agent);
    if (problem === "") {
      servers.set(server.name, mcpServerFrom(server));
    } else {
      problems.push(
        `MCP server ${JSON.stringify(oneLine(server.name, 80))} cannot be used: ${problem}. The session goes on without it.`,
      );
    }
  }
  return { servers: [...servers.values()], problems };
}

/** Returns why a server cannot be used by any agent; empty if it can. */
function serverProblem(server: AcpMcpServer, agent: PortAgent): string {
  if (!isFollowed(agent, "mcp_servers")) {
    return `the agent ${JSON.stringify(agent.name)} does not take MCP servers of its clients`;
  }
  if (server.name === "") return "it has no name";
  if (!("type" in server)) {
    return server.command === "" ? "it has no command" : "";
  }
  return /^https?:$/.test(URL.parse(server.url)?.protocol ?? "")
    ? ""
    : `its URL ${JSON.stringify(oneLine(server.url, 80))} does not begin with http:// or https://`;
}

function mcpServerFrom(server: AcpMcpServer): McpServer {
  const { name } = server;
  if (!("type" in server)) {
    const { command, args, env } = server;
    const value = { command, args, env: recordOf(env) };
    return create(McpServerSchema, {
      name,
      transport: { case: "stdio", value },
    });
  }
  const { url, headers, type } = server;
  const value = { url, headers: recordOf(headers) };
  return create(McpServerSchema, { name, transport: { case: type, value } });
}

function recordOf(pairs: readonly Pick<HttpHeader, "name" | "value">[]): {
  [name: string]: string;
} {
  return Object.fromEntries(pairs.map(({ name, value }) => [name, value]));
}
