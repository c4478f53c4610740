import { isAbsolute } from "node:path";
import type {
  SessionConfigOption,
  SessionModeState,
} from "@agentclientprotocol/sdk";
import { create, type JsonObject } from "@bufbuild/protobuf";
import { objectOrEmpty } from "@devtool/internal/json";
import { shownUrl } from "@devtool/internal/shown-url";
import { oneLine } from "@devtool/internal/visible-text";
import { ApprovalMode, type McpServer, McpServerSchema } from "@devtool/schema";
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
export function assertAbsolute(cwd: unknown): asserts cwd is string {
  if (isText(cwd) && isAbsolute(cwd)) return;
  throw invalidParams(
    `cwd ${JSON.stringify(cwd ?? null)} is not an absolute path: send the full path of the directory`,
    { cwd: "not an absolute path" },
  );
}

/**
 * Throws if a client names directories besides `cwd`: a session of the port
 * works in one.
 */
export function assertNoMoreDirectories(directories: unknown): void {
  const [first] = [directories ?? []].flat();
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
 *
 * @param brought what the client sends as a list, which may hold anything
 */
export function mcpServersFrom(
  brought: unknown,
  agent: PortAgent,
): BroughtServers {
  const servers = new Map<string, McpServer>();
  const problems: string[] = [];
  for (const sent of [brought ?? []].flat()) {
    const { name = sent } = objectOrEmpty(sent);
    const read =
      isText(name) && servers.has(name)
        ? "its name is used twice"
        : mcpServerFrom(objectOrEmpty(sent), agent);
    if (typeof read !== "string") {
      servers.set(read.name, read);
      continue;
    }
    const named = JSON.stringify(
      oneLine(typeof name === "string" ? name : JSON.stringify(name), 80),
    );
    problems.push(
      `MCP server ${named} cannot be used: ${read}. The session goes on without it.`,
    );
  }
  return { servers: [...servers.values()], problems };
}

/** Returns a server, or why no agent can use it. */
function mcpServerFrom(
  { name, type = null, command, args, env, url, headers }: JsonObject,
  agent: PortAgent,
): McpServer | string {
  if (!isFollowed(agent, "mcp_servers")) {
    return `the agent ${JSON.stringify(agent.name)} does not take MCP servers of its clients`;
  }
  if (!isText(name) || name === "") return "it has no name";
  if (type === null || type === "stdio") {
    const words = [args ?? []].flat();
    const variables = recordFrom(env);
    if (!isText(command) || command === "") return "it has no command";
    if (!words.every(isText)) return "one of its args is not text";
    if (!variables) return "its env is not a list of names and values";
    const value = { command, args: words, env: variables };
    return create(McpServerSchema, {
      name,
      transport: { case: "stdio", value },
    });
  }
  if (type !== "http" && type !== "sse") {
    return `its type ${oneLine(JSON.stringify(type), 80)} is not stdio, http or sse`;
  }
  const fields = recordFrom(headers);
  const address = isText(url) ? url : "";
  if (!/^https?:$/.test(URL.parse(address)?.protocol ?? "")) {
    const shown = isText(url) ? shownUrl(url) : (url ?? "");
    return `its URL ${oneLine(JSON.stringify(shown), 80)} does not begin with http:// or https://`;
  }
  if (!fields) return "its headers are not a list of names and values";
  const value = { url: address, headers: fields };
  return create(McpServerSchema, { name, transport: { case: type, value } });
}

/**
 * Returns a list of names and values as a record. Undefined for anything else,
 * and for a name with two values: only one of them would count.
 */
function recordFrom(list: unknown): { [name: string]: string } | undefined {
  const record = new Map<string, string>();
  for (const pair of [list ?? []].flat()) {
    const { name, value } = objectOrEmpty(pair);
    if (!isText(name) || !isText(value)) return undefined;
    if ((record.get(name) ?? value) !== value) return undefined;
    record.set(name, value);
  }
  return Object.fromEntries(record);
}

/** Whether a value is a text without unpaired surrogates. */
function isText(value: unknown): value is string {
  return typeof value === "string" && value.isWellFormed();
}
