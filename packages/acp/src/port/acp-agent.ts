import type {
  AgentContext,
  CancelNotification,
  ClientCapabilities,
  CloseSessionRequest,
  InitializeRequest,
  InitializeResponse,
  ListSessionsRequest,
  ListSessionsResponse,
  LoadSessionResponse,
  NewSessionResponse,
  PromptResponse,
  SessionConfigOption,
  SetSessionConfigOptionRequest,
  SetSessionConfigOptionResponse,
  SetSessionModeRequest,
} from "@agentclientprotocol/sdk";
import { PROTOCOL_VERSION, RequestError } from "@agentclientprotocol/sdk";
import type { JsonObject } from "@bufbuild/protobuf";
import { defined, stringOrEmpty } from "@devtool/internal/json";
import { oneLine } from "@devtool/internal/visible-text";
import {
  ApprovalMode,
  isTerminal,
  type McpServer,
  type Task,
} from "@devtool/schema";
import { promptCapabilities } from "./content.ts";
import { invalidParams, rpcErrorFrom, sessionNotFound } from "./errors.ts";
import { isFollowed, type Port } from "./port.ts";
import { EditorSession } from "./session.ts";
import type { SessionChoices } from "./session-choices.ts";
import {
  assertWorksIn,
  lastOfPrompts,
  listSessions,
  tasksOfSession,
} from "./session-list.ts";
import {
  agentOf,
  assertAbsolute,
  assertNoMoreDirectories,
  configOptions,
  MODEL_OPTION,
  mcpServersFrom,
  modelOf,
  modeOf,
  modeState,
} from "./settings.ts";

/** Dependencies of `AcpAgent`. */
export interface AcpAgentHost {
  readonly connect: (
    cwd: string | undefined,
    signal: AbortSignal,
  ) => Promise<Port>;
  readonly agent: string;
  readonly models: readonly string[];
  readonly nextId: () => string;
  readonly log: (text: string) => void;
}

/** The methods of an ACP agent, over the sessions of one connection. */
export class AcpAgent {
  readonly #host: AcpAgentHost;
  readonly #sessions = new Map<string, EditorSession>();
  /**
   * The sessions that began over this connection, by their ids: the task that
   * one goes on with, as a fork.
   */
  readonly #begun = new Map<string, Task | undefined>();
  /** The programs that the user has allowed to start as MCP servers. */
  readonly #allowedPrograms = new Set<string>();
  #capabilities: ClientCapabilities = {};
  #signal: AbortSignal = new AbortController().signal;

  constructor(host: AcpAgentHost) {
    this.#host = host;
  }

  /** Takes the signal that aborts when the connection closes. */
  closing(signal: AbortSignal): void {
    this.#signal = signal;
  }

  async initialize(
    { clientCapabilities }: InitializeRequest,
    signal: AbortSignal,
  ): Promise<InitializeResponse> {
    this.#capabilities = clientCapabilities ?? {};
    const { agent } = await asRpc(this.#host.connect(undefined, signal));
    const { hasExtension } = agent;
    const takesServers = isFollowed(agent, "mcp_servers");
    return {
      protocolVersion: PROTOCOL_VERSION,
      agentInfo: { name: oneLine(agent.name), version: oneLine(agent.version) },
      authMethods: [],
      agentCapabilities: {
        loadSession: hasExtension,
        promptCapabilities: promptCapabilities(agent.inputModes),
        mcpCapabilities: { http: takesServers, sse: takesServers },
        sessionCapabilities: {
          close: {},
          ...(hasExtension && { list: {}, resume: {} }),
          ...(isFollowed(agent, "fork") && { fork: {} }),
        },
      },
    };
  }

  async newSession(
    request: JsonObject,
    acp: AgentContext,
  ): Promise<NewSessionResponse> {
    const opened = await this.#open(request);
    const session = this.#session(this.#host.nextId(), { ...opened, acp });
    this.#begun.set(session.id, undefined);
    return this.#begin(session, opened.problems);
  }

  /** ACP has it unstable: the SDK has no types of it yet. */
  async forkSession(
    request: JsonObject,
    acp: AgentContext,
  ): Promise<NewSessionResponse> {
    const { opened, tasks } = await this.#read(request, "session/fork");
    const sessionId = stringOrEmpty(request.sessionId);
    if (tasks.length === 0 && !this.#begun.has(sessionId)) {
      throw sessionNotFound(sessionId);
    }
    const origin = lastOfPrompts(tasks) ?? this.#begun.get(sessionId);
    if (origin) assertForks(origin, sessionId, opened.port);
    const session = this.#session(this.#host.nextId(), { ...opened, acp });
    this.#begun.set(session.id, origin);
    if (origin) session.fork(origin);
    const unused = unusedServers(session, origin ? [origin] : []);
    return this.#begin(session, [...opened.problems, ...unused]);
  }

  /** Answers for a session that begins, and tells its user the news. */
  #begin(session: EditorSession, news: readonly string[]): NewSessionResponse {
    this.#afterResponse(async () => {
      for (const text of news) await session.tell(text);
      await session.announceCommands();
    });
    return { sessionId: session.id, ...this.#state(session) };
  }

  async loadSession(
    request: JsonObject,
    acp: AgentContext,
  ): Promise<LoadSessionResponse> {
    const continued = await this.#continue(request, acp);
    await continued.session.replay(continued.tasks);
    return this.#goOn(continued);
  }

  async resumeSession(
    request: JsonObject,
    acp: AgentContext,
  ): Promise<LoadSessionResponse> {
    return this.#goOn(await this.#continue(request, acp));
  }

  async listSessions(
    request: ListSessionsRequest,
    signal: AbortSignal,
  ): Promise<ListSessionsResponse> {
    const { cwd } = request;
    if (typeof cwd === "string") assertAbsolute(cwd);
    const port = await asRpc(this.#host.connect(cwd ?? undefined, signal));
    assertKeepsSessions(port, "session/list");
    return asRpc(listSessions(port.client, request, signal));
  }

  async closeSession({
    sessionId,
  }: CloseSessionRequest): Promise<Record<string, never>> {
    const session = this.#find(sessionId);
    this.#sessions.delete(sessionId);
    await session.cancel();
    return {};
  }

  async setMode({
    sessionId,
    modeId,
  }: SetSessionModeRequest): Promise<Record<string, never>> {
    const session = this.#find(sessionId);
    session.choose({ approvalMode: modeOf(modeId, session.agent) });
    return {};
  }

  async setConfigOption(
    request: SetSessionConfigOptionRequest,
  ): Promise<SetSessionConfigOptionResponse> {
    const { sessionId, configId, value } = request;
    const { models } = this.#host;
    const session = this.#find(sessionId);
    const { agents } = session.port;
    const ids = this.#options(session).map(({ id }) => id);
    if (!ids.includes(configId)) {
      const known =
        ids.length === 0 ? "this agent has none" : `choose ${ids.join(", ")}`;
      throw invalidParams(
        `config option ${JSON.stringify(configId)} does not exist: ${known}`,
      );
    }
    if (configId === MODEL_OPTION) {
      session.choose({ model: modelOf(value, models) });
      return { configOptions: this.#options(session) };
    }
    const agent = agentOf(value, agents);
    if (agent !== session.choices.agent) {
      // The client is told what the chosen agent does not know of the session.
      const news = session.chooseAgent(agent);
      this.#afterResponse(async () => {
        if (news !== "") await session.tell(news);
        await session.announceCommands();
      });
    }
    return { configOptions: this.#options(session) };
  }

  #options(session: EditorSession): SessionConfigOption[] {
    return configOptions(session.choices, {
      agents: session.port.agents,
      models: isFollowed(session.agent, "model") ? this.#host.models : [],
    });
  }

  async prompt(
    { sessionId, prompt, _meta }: JsonObject,
    signal: AbortSignal,
  ): Promise<PromptResponse> {
    return asRpc(this.#find(sessionId).prompt(prompt, _meta, signal));
  }

  async cancel({ sessionId }: CancelNotification): Promise<void> {
    await this.#sessions.get(sessionId)?.cancel();
  }

  #find(sessionId: unknown): EditorSession {
    const session = this.#sessions.get(stringOrEmpty(sessionId));
    if (!session) throw sessionNotFound(sessionId);
    return session;
  }

  /**
   * Connects to the server of a new session, and reads what the client chose
   * for it.
   */
  async #open({
    cwd,
    mcpServers,
    additionalDirectories,
  }: JsonObject): Promise<Opened> {
    assertAbsolute(cwd);
    assertNoMoreDirectories(additionalDirectories);
    const port = await asRpc(this.#host.connect(cwd, this.#signal));
    const { servers, problems } = mcpServersFrom(mcpServers, port.agent);
    const [first = ""] = port.agents?.keys() ?? [];
    const agent = this.#host.agent || first;
    return {
      port,
      problems,
      choices: {
        cwd,
        mcpServers: servers,
        agent,
        model: "",
        approvalMode: ApprovalMode.UNSPECIFIED,
      },
    };
  }

  #session(
    id: string,
    {
      port,
      choices,
      acp,
    }: Omit<Opened, "problems"> & { readonly acp: AgentContext },
  ): EditorSession {
    const { nextId, log } = this.#host;
    const host = {
      port,
      acp,
      capabilities: this.#capabilities,
      nextId,
      log,
      allowedPrograms: this.#allowedPrograms,
      signal: this.#signal,
    };
    const session = new EditorSession(id, host, choices);
    this.#sessions.set(id, session);
    return session;
  }

  async #continue(request: JsonObject, acp: AgentContext): Promise<Continued> {
    const { opened, tasks } = await this.#read(request, "session/load");
    const sessionId = stringOrEmpty(request.sessionId);
    const hasBegun = this.#begun.has(sessionId);
    const origin = tasks.length === 0 ? this.#begun.get(sessionId) : undefined;
    this.#sessions.get(sessionId)?.leave();
    const session = this.#session(sessionId, { ...opened, acp });
    session.continue(tasks);
    if (origin) session.fork(origin);
    const news = [
      ...opened.problems,
      ...unusedServers(session, origin ? [origin] : tasks),
      // Another server may have what was said.
      ...(tasks.length === 0 && !hasBegun ? [NOTHING_SAID] : []),
    ];
    return { session, tasks, news };
  }

  /**
   * Connects to the server of a session, and reads its tasks. Throws for a
   * session that does not exist, or works in another directory.
   */
  async #read(
    request: JsonObject,
    method: string,
  ): Promise<{ readonly opened: Opened; readonly tasks: readonly Task[] }> {
    const sessionId = stringOrEmpty(request.sessionId);
    if (sessionId === "") throw sessionNotFound(request.sessionId);
    const opened = await this.#open(request);
    const { port, choices } = opened;
    assertKeepsSessions(port, method);
    const tasks = await asRpc(
      tasksOfSession(port.client, sessionId, this.#signal),
    );
    const [first] = tasks;
    const isEmpty =
      !first && (this.#begun.has(sessionId) || SESSION_ID.test(sessionId));
    if (!first && !isEmpty) throw sessionNotFound(sessionId);
    const known = first ?? this.#begun.get(sessionId);
    if (known && port.workspace !== undefined) {
      await assertWorksIn(sessionId, choices.cwd, known);
    }
    return { opened, tasks };
  }

  /**
   * Follows the tasks of a session that has been continued, once the client
   * knows the session.
   */
  #goOn({ session, tasks, news }: Continued): LoadSessionResponse {
    this.#afterResponse(async () => {
      for (const text of news) await session.tell(text);
      session.attach(tasks);
      await session.announceCommands();
    });
    return this.#state(session);
  }

  #state(
    session: EditorSession,
  ): Pick<NewSessionResponse, "modes" | "configOptions"> {
    if (!session.agent.hasExtension) return {};
    const options = this.#options(session);
    return defined({
      modes: modeState(session.choices.approvalMode, session.agent),
      configOptions: options.length > 0 ? options : undefined,
    });
  }

  /** Runs something after the answer to the current request has been sent. */
  #afterResponse(run: () => Promise<void>): void {
    setImmediate(() => {
      if (this.#signal.aborted) return;
      run().catch((reason: unknown) => this.#host.log(String(reason)));
    });
  }
}

interface Opened {
  readonly port: Port;
  /** Why MCP servers of the client cannot be used. */
  readonly problems: readonly string[];
  readonly choices: SessionChoices;
}

interface Continued {
  readonly session: EditorSession;
  readonly tasks: readonly Task[];
  /** What the user has to know about the session. */
  readonly news: readonly string[];
}

/** The form of the ids of sessions. */
const SESSION_ID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i;

const NOTHING_SAID =
  "This server has no messages of this session: it begins empty.";

/**
 * Returns what to tell about MCP servers that a session goes on without: others
 * of their names are part of it, or its agent takes none after the first prompt.
 */
function unusedServers(
  { agent, choices }: EditorSession,
  tasks: readonly Task[],
): string[] {
  if (tasks.length === 0) return [];
  const known = new Map(
    tasks.flatMap(({ sessionSettings }) =>
      (sessionSettings?.mcpServers ?? []).map((server) => [
        server.name,
        shownTransport(server),
      ]),
    ),
  );
  const takesMore = isFollowed(agent, "added_mcp_servers");
  return choices.mcpServers.flatMap((server) => {
    const shown = known.get(server.name);
    const why =
      shown === undefined
        ? "is not part of this session, whose agent takes servers with the first prompt only"
        : "is not the one of that name that this session has, and keeps";
    const isUsed =
      shown === undefined ? takesMore : shown === shownTransport(server);
    const name = JSON.stringify(oneLine(server.name, 80));
    return isUsed
      ? []
      : [`MCP server ${name} ${why}: start a new session to use it.`];
  });
}

/** Returns how a server is reached, without what clients are not shown. */
function shownTransport({ transport }: McpServer): string {
  switch (transport.case) {
    case "stdio": {
      const { command, args, env } = transport.value;
      return JSON.stringify([command, args, Object.keys(env).toSorted()]);
    }
    case "http":
    case "sse": {
      const { url, headers } = transport.value;
      const { protocol, host, pathname } = URL.parse(url) ?? {};
      const names = Object.keys(headers).toSorted();
      return JSON.stringify([transport.case, protocol, host, pathname, names]);
    }
    case undefined:
      return "";
    default:
      return transport satisfies never;
  }
}

/** Throws for a session that cannot be forked, or not now. */
function assertForks(
  { sessionSettings, state }: Task,
  sessionId: string,
  { agent, agents }: Port,
): void {
  const session = `session ${JSON.stringify(sessionId)}`;
  const own = agents?.get(sessionSettings?.agent ?? "") ?? agent;
  if (!isFollowed(own, "fork")) {
    throw invalidParams(
      `${session} cannot be forked, since its agent ${JSON.stringify(oneLine(own.name))} cannot: start one with session/new`,
    );
  }
  if (!isTerminal(state)) {
    throw invalidParams(
      `${session} has not ended its turn: wait for that, or cancel it with session/cancel`,
    );
  }
}

/** Rejects with the JSON-RPC error that an error of the server means. */
async function asRpc<T>(call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (reason) {
    throw rpcErrorFrom(reason);
  }
}

/**
 * Throws for an agent without the extension, whose earlier tasks cannot be
 * found by their context.
 */
function assertKeepsSessions({ agent }: Port, method: string): void {
  if (!agent.hasExtension) throw RequestError.methodNotFound(method);
}
