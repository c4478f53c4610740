import type { HandlerContext } from "@connectrpc/connect";
import type { AgentCard } from "@devtool/schema/a2a-v1";
import type { About } from "../../agent/agent.ts";
import type { RequestHandler } from "../../handler/request-handler.ts";
import type { Heartbeats } from "../http/heartbeats.ts";
import type { ErrorTable } from "./error-table.ts";

/** Dependencies and options of the service of A2A 1.0, for all its bindings. */
export interface A2aServiceOptions {
  readonly handler: RequestHandler;

  /** Whether clients must use the extension (CARD-1). */
  readonly extensionRequired: boolean;

  /**
   * Resolves to the card for an authenticated caller. Default: there is no
   * extended card.
   */
  readonly extendedCard?:
    | ((context: HandlerContext) => Promise<AgentCard>)
    | undefined;

  /**
   * The effect of a message to a task that has ended: `continue` begins a new
   * task that refers to it (STREAM-5), `refuse` is an error, as the standard's
   * own test kits demand. Default: `continue`.
   */
  readonly endedTask?: "continue" | "refuse" | undefined;

  /**
   * The effect of a message that names a context and no task, while exactly one
   * task of the context waits for its user: `continue` gives it to that task,
   * as in A2A 0.3, `create` creates a task. Default `create`.
   */
  readonly contextAlone?: "continue" | "create" | undefined;

  /**
   * The media types of message parts that the operator allows, for parts that
   * name one. It applies to all agents: what an agent's card lists as its own
   * input modes only informs clients.
   *
   * Default: all.
   */
  readonly inputModes?: readonly string[] | undefined;

  /**
   * The media types of the agent's answers. Default: text, Markdown and JSON.
   */
  readonly outputModes?: readonly string[] | undefined;

  /**
   * The agents that a tenant can name.
   *
   * Default: there is only one agent, and a tenant is any text.
   */
  readonly agents?: ReadonlyMap<string, About> | undefined;

  /**
   * Returns an id for a message that has none.
   *
   * Default: such a message is refused, as the standard says.
   */
  readonly nextMessageId?: (() => string) | undefined;

  /** The codes and statuses of errors. Default: those of A2A 1.0.1. */
  readonly errorTable?: ErrorTable | undefined;
}

/** Dependencies and options of A2A 1.0 in all its bindings. */
export interface A2aV1Options extends A2aServiceOptions {
  /** Maximum size of a request body in bytes. */
  readonly maxRequestBytes: number;

  /** Sends the keep-alive comments of all streams. */
  readonly heartbeats: Heartbeats;

  /**
   * Aborts when the server stops, and ends the streams that have no end of
   * their own.
   */
  readonly shutdown: AbortSignal;

  /** Called with each error that is not the client's fault. */
  readonly onError: (reason: unknown) => void;
}
