import type { AgentCard } from "@devtool/schema/a2a-v1";
import type { RequestHandler } from "../../handler/request-handler.ts";
import type { ErrorTable } from "./errors.ts";

/** What the methods of A2A 1.0 need, whichever binding they are called by. */
export interface A2aServiceOptions {
  readonly handler: RequestHandler;
  /** Whether a client must know the extension (CARD-1). */
  readonly extensionRequired: boolean;
  /** Gives the card for a caller that we know; without it there is none. */
  readonly extendedCard?: (principal: string) => AgentCard | Promise<AgentCard>;
  /** How failures are told; by default as in A2A 1.0.1. */
  readonly errorTable?: ErrorTable;
}
