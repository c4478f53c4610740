import type { HandlerContext } from "@connectrpc/connect";
import type { AgentCard } from "@devtool/schema/a2a-v1";
import type { About } from "../../agent/agent.ts";
import type { RequestHandler } from "../../handler/request-handler.ts";
import type { ErrorTable } from "./errors.ts";

/** What the methods of A2A 1.0 need, whichever binding they are called by. */
export interface A2aServiceOptions {
  readonly handler: RequestHandler;
  /** Whether a client must know the extension (CARD-1). */
  readonly extensionRequired: boolean;
  /** Gives the card for a caller that we know; without it there is none. */
  readonly extendedCard?: (context: HandlerContext) => Promise<AgentCard>;
  /**
   * What a message to a task that has ended does: it begins a new task that refers to it (STREAM-5), or it is refused, as
   * the standard's own test kits demand. By default the first.
   */
  readonly endedTask?: "continue" | "refuse";
  /** The media types that the parts of a message may have, where they say one; by default all. */
  readonly inputModes?: readonly string[];
  /** The media types of what the agent answers with; by default those of our own. */
  readonly outputModes?: readonly string[];
  /** What the agents that a tenant can name say of themselves; by default there is one, and a tenant is any text. */
  readonly agents?: ReadonlyMap<string, About>;
  /** Makes an id for a message that has none; by default such a message is refused, as the standard says. */
  readonly nextMessageId?: () => string;
  /** How failures are told; by default as in A2A 1.0.1. */
  readonly errorTable?: ErrorTable;
}
