import type {
  McpServer as AcpMcpServer,
  LoadSessionResponse,
  McpCapabilities,
  NewSessionResponse,
} from "@agentclientprotocol/sdk";
import { objectOrEmpty, stringOrEmpty } from "@devtool/internal/json";
import { oneLine } from "@devtool/internal/visible-text";
import type { McpServer } from "@devtool/schema";
import { Code, DevtoolError, quoted } from "@devtool/server/agent";
import type { AcpAgentOptions } from "./acp-agent-options.ts";
import type { AcpConnection } from "./acp-connection.ts";
import {
  type OnOdd,
  type SessionState,
  sessionState,
} from "./session-state.ts";

/**
 * The maximum length of an agent's id of a session, in characters. It is in the
 * log.
 */
const MAX_ID_LENGTH = 1024;

/** Which session of an agent to enter. */
export interface SessionOptions {
  readonly agent: AcpAgentOptions;
  readonly workspacePath: string;
  /** The MCP servers that the session brings to the agent. */
  readonly mcpServers: readonly McpServer[];
  /** The id of the session to continue; empty for a new one. */
  readonly sessionId: string;
  /**
   * The id of the session that a new one goes on with; empty for none. Without
   * effect beside `sessionId`.
   */
  readonly forkedId: string;
  readonly onNotice: (text: string) => void;
}

/** Which session to enter, and who is told of what it cannot offer. */
export interface EnterOptions extends SessionOptions {
  readonly onOdd: OnOdd;
}

/** A session of an agent that was begun or continued. */
export interface EnteredSession {
  readonly id: string;
  /** Whether the agent continued the requested session. */
  readonly isContinued: boolean;
  readonly state: SessionState;
}

/**
 * Resumes or loads a session, or begins a new one, as a fork or empty. Logs in
 * first if the agent requires that and the options have the method.
 */
export async function enterSession(
  connection: AcpConnection,
  options: EnterOptions,
  signal: AbortSignal,
): Promise<EnteredSession> {
  const { name, authMethod } = options.agent;
  try {
    return await enterOnce(connection, options, signal);
  } catch (reason) {
    if (!needsLogin(reason)) throw reason;
    if (authMethod === undefined) {
      const { authMethods } = objectOrEmpty(connection.initialized);
      const methods = [authMethods ?? []].flat().map(methodName);
      const offered =
        methods.length > 0 ? `; it offers ${methods.join(", ")}` : "";
      throw new DevtoolError(
        `agent ${quoted(name)} requires a login${offered}`,
        Code.Unauthenticated,
        {
          cause: reason,
          remedy:
            "log in with the agent's own command, then send the message again",
        },
      );
    }
    await connection.request("authenticate", signal, (agent) =>
      agent.request("authenticate", { methodId: authMethod }),
    );
    return enterOnce(connection, options, signal);
  }
}

/** Whether an agent refused a request because its user has to log in. */
export function needsLogin(reason: unknown): reason is DevtoolError {
  return reason instanceof DevtoolError && reason.code === Code.Unauthenticated;
}

/** Returns what an agent calls a way to log in, which may be anything. */
function methodName(method: unknown): string {
  const { id, name } = objectOrEmpty(method);
  const said = [stringOrEmpty(name), stringOrEmpty(id) && `(${id})`]
    .filter((word) => word !== "")
    .join(" ");
  return oneLine(said || JSON.stringify(method), 80);
}

async function enterOnce(
  connection: AcpConnection,
  options: EnterOptions,
  signal: AbortSignal,
): Promise<EnteredSession> {
  const { workspacePath: cwd, agent } = options;
  const { mcpCapabilities } = connection.initialized.agentCapabilities ?? {};
  const mcpServers = acpMcpServers(
    options.mcpServers,
    agent.name,
    mcpCapabilities ?? {},
  );
  const place = { cwd, mcpServers };
  const continued = await continueSession(connection, options, place, signal);
  if (continued) return continued;
  const method = newSessionMethod(connection, options);
  const params =
    method === "session/fork"
      ? { sessionId: options.forkedId, ...place }
      : place;
  const opened = await connection.request(
    method,
    signal,
    (to): Promise<NewSessionResponse> => to.request(method, params),
  );
  const id = objectOrEmpty(opened).sessionId;
  if (
    typeof id === "string" &&
    id !== "" &&
    id.length <= MAX_ID_LENGTH &&
    id.isWellFormed()
  ) {
    const state = sessionState(opened, options.onOdd);
    return { id, isContinued: false, state };
  }
  const problem = `agent ${quoted(agent.name)} answered ${method} without a session id of at most ${MAX_ID_LENGTH} characters`;
  throw new DevtoolError(problem, Code.Unavailable);
}

/**
 * Returns the method that begins a session. Throws `Code.FailedPrecondition` for
 * a fork at an agent that has none.
 */
function newSessionMethod(
  { initialized }: AcpConnection,
  { agent, sessionId, forkedId }: EnterOptions,
): "session/new" | "session/fork" {
  if (sessionId !== "" || forkedId === "") return "session/new";
  const { sessionCapabilities } = initialized.agentCapabilities ?? {};
  if (objectOrEmpty(sessionCapabilities).fork ?? undefined) {
    return "session/fork";
  }
  throw new DevtoolError(
    `agent ${quoted(agent.name)} cannot fork its conversations: it does not have session/fork`,
    Code.FailedPrecondition,
    { remedy: "continue the conversation itself, or begin a new one" },
  );
}

/**
 * Returns MCP servers as the agent takes them. Throws for one that the agent
 * cannot reach.
 */
function acpMcpServers(
  servers: readonly McpServer[],
  agent: string,
  capabilities: McpCapabilities,
): AcpMcpServer[] {
  return servers.map((server) => {
    const { name, transport } = server;
    if (transport.case === "stdio") {
      const { command, args, env } = transport.value;
      return { name, command, args: [...args], env: pairs(env) };
    }
    if (transport.case !== undefined && capabilities[transport.case] === true) {
      const { url, headers } = transport.value;
      return { type: transport.case, name, url, headers: pairs(headers) };
    }
    const kind = transport.case ?? "no transport";
    throw new DevtoolError(
      `MCP server ${quoted(name)} cannot be used: agent ${quoted(agent)} takes none over ${kind}`,
      Code.InvalidArgument,
    );
  });
}

function pairs(
  values: Readonly<Record<string, string>>,
): { name: string; value: string }[] {
  return Object.entries(values).map(([name, value]) => ({ name, value }));
}

/** Continues an earlier session. Undefined when the agent cannot. */
async function continueSession(
  connection: AcpConnection,
  { sessionId, onNotice, onOdd }: EnterOptions,
  place: { readonly cwd: string; readonly mcpServers: AcpMcpServer[] },
  signal: AbortSignal,
): Promise<EnteredSession | undefined> {
  const { loadSession, sessionCapabilities } =
    connection.initialized.agentCapabilities ?? {};
  const canResume = (sessionCapabilities?.resume ?? undefined) !== undefined;
  if (sessionId === "" || (!canResume && loadSession !== true)) {
    return undefined;
  }
  const params = { sessionId, ...place };
  const method = canResume ? "session/resume" : "session/load";
  try {
    const opened = await connection.request(
      method,
      signal,
      (agent): Promise<LoadSessionResponse> => agent.request(method, params),
    );
    const state = sessionState(opened, onOdd);
    return { id: sessionId, isContinued: true, state };
  } catch (reason) {
    signal.throwIfAborted();
    connection.ended.throwIfAborted();
    if (needsLogin(reason)) throw reason;
    onNotice(
      `a session cannot be continued: ${DevtoolError.from(reason).message}`,
    );
    return undefined;
  }
}
