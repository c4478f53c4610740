import type {
  AgentContext,
  PermissionOption,
  ToolCallUpdate,
} from "@agentclientprotocol/sdk";
import { ConnectError } from "@connectrpc/connect";
import { oneLine, visibleText } from "@devtool/internal/visible-text";
import { ErrorContextSchema, type McpServer } from "@devtool/schema";
import type { Port } from "./port.ts";

/** The dependencies of `EditorServers`. */
export interface EditorServersOptions {
  readonly sessionId: string;
  readonly acp: AgentContext;
  readonly port: Port;
  /** The directory in which servers that are programs start. */
  readonly cwd: string;
  readonly nextId: () => string;
  /** Shows the user a text that no agent has said. */
  readonly tell: (text: string) => Promise<void>;
  /**
   * The programs that the user has allowed to start, in any session of the
   * connection.
   */
  readonly allowed: Set<string>;
}

/** The options of the question whether a program may start. */
const START = "start";
const OPTIONS: PermissionOption[] = [
  { optionId: START, name: "Start it", kind: "allow_once" },
  { optionId: "skip", name: "Go on without it", kind: "reject_once" },
];

/** A name of an environment variable whose value is not shown. */
const SECRET = /token|key|secret|passw|credential|auth/i;

/**
 * The MCP servers that an editor brings to a session. One that cannot be used
 * costs only itself: the session goes on without it, and its user is told.
 */
export class EditorServers {
  readonly #options: EditorServersOptions;
  readonly #servers: readonly McpServer[];
  /** The servers that the user does not want. */
  readonly #declined = new Set<McpServer>();
  /** The servers that an agent does not take, by its name. */
  readonly #refused = new Map<string, Set<McpServer>>();

  constructor(options: EditorServersOptions, servers: readonly McpServer[]) {
    this.#options = options;
    this.#servers = servers;
  }

  /** Returns the servers that a new conversation with an agent brings. */
  of(agent: string): McpServer[] {
    return this.#servers.filter(
      (server) =>
        !this.#declined.has(server) &&
        this.#refused.get(agent)?.has(server) !== true &&
        !this.#mustAsk(server),
    );
  }

  /**
   * Asks the user about each program that a conversation with an agent would
   * start, once. The signal aborts when the user cancels; then what was not
   * answered is asked again with the next prompt.
   *
   * @param lacks whether the conversation takes a server that it does not have
   */
  async ask(
    lacks: (server: McpServer) => boolean,
    signal: AbortSignal,
  ): Promise<void> {
    for (const server of this.#servers.filter(lacks)) {
      if (this.#declined.has(server) || !this.#mustAsk(server)) continue;
      if (signal.aborted) return;
      const isAllowed = await this.#isAllowed(server, signal);
      if (signal.aborted) return;
      if (isAllowed) {
        this.#options.allowed.add(this.#programOf(server));
        continue;
      }
      this.#declined.add(server);
      await this.#options.tell(
        `MCP server ${nameOf(server)} is not started. The session goes on without it.`,
      );
    }
  }

  /**
   * Leaves out what a server's refusal is about, and tells the user. Returns
   * false for an error that is not about MCP servers.
   *
   * @param lacks whether the conversation takes a server that it does not have
   */
  async leaveOut(
    agent: string,
    lacks: (server: McpServer) => boolean,
    reason: unknown,
  ): Promise<boolean> {
    const error = ConnectError.from(reason);
    const [context] = error.findDetails(ErrorContextSchema);
    const sent = this.of(agent).filter(lacks);
    if (context?.field !== "mcp_servers" || sent.length === 0) return false;
    const named = sent.filter(({ name }) => name === context.value);
    const refused = this.#refused.get(agent) ?? new Set();
    for (const server of named.length > 0 ? named : sent) refused.add(server);
    this.#refused.set(agent, refused);
    await this.#options.tell(
      `${visibleText(error.rawMessage)}. The session goes on without.`,
    );
    return true;
  }

  /** Whether only the user can say that a server starts. */
  #mustAsk(server: McpServer): boolean {
    const { port, allowed } = this.#options;
    return (
      server.transport.case === "stdio" &&
      port.isOwn === true &&
      !allowed.has(this.#programOf(server))
    );
  }

  /** A text that is the same for programs that do the same. */
  #programOf({ name, transport }: McpServer): string {
    return JSON.stringify([name, this.#options.cwd, transport.value]);
  }

  async #isAllowed(server: McpServer, signal: AbortSignal): Promise<boolean> {
    const { acp, sessionId, nextId } = this.#options;
    const toolCallId = nextId();
    const text = `${commandLine(server)}\n\nIt runs in ${this.#options.cwd} with your rights, outside of the sandbox.`;
    const view: ToolCallUpdate & { readonly title: string } = {
      toolCallId,
      title: `Start the MCP server ${nameOf(server)}?`,
      kind: "execute",
      content: [
        {
          type: "content",
          content: { type: "text", text: visibleText(text) },
        },
      ],
    };
    const update = (status: "pending" | "completed" | "failed") =>
      acp.notify("session/update", {
        sessionId,
        update:
          status === "pending"
            ? { sessionUpdate: "tool_call", status, ...view }
            : { sessionUpdate: "tool_call_update", status, toolCallId },
      });
    await update("pending");
    let isAllowed = false;
    try {
      const { outcome } = await acp.request(
        "session/request_permission",
        { sessionId, toolCall: view, options: OPTIONS },
        { cancellationSignal: signal, stopWaitingOnCancel: true },
      );
      isAllowed = outcome.outcome === "selected" && outcome.optionId === START;
    } catch {
      // An editor that cannot answer starts no program.
    }
    await update(isAllowed ? "completed" : "failed");
    return isAllowed;
  }
}

/** Returns the command line of a server, with the variables that it gets. */
function commandLine({ transport }: McpServer): string {
  if (transport.case !== "stdio") return "";
  const { command, args, env } = transport.value;
  const variables = Object.entries(env).map(
    ([name, value]) => `${name}=${SECRET.test(name) ? "[hidden]" : value}`,
  );
  return [...variables, command, ...args]
    .map((word) =>
      /^[\w@%+=:,./[\]-]+$/.test(word) ? word : JSON.stringify(word),
    )
    .join(" ");
}

function nameOf({ name }: McpServer): string {
  return JSON.stringify(oneLine(name, 80));
}
