import type { AgentCard } from "@devtool/schema/a2a-v1";
import type { RequestHandler } from "../../handler/request-handler.ts";
import type { A2aOptions } from "../a2a/a2a-options.ts";
import type { DialectServices } from "../dialect.ts";
import type { A2aV1Call } from "./call.ts";
import type { ErrorTable } from "./error-table.ts";

/** Dependencies and options of the service of A2A 1.0, for all its bindings. */
export interface A2aServiceOptions
  extends Pick<A2aOptions, "endedTask" | "contextAlone" | "inputModes"> {
  readonly handler: RequestHandler;

  /** Whether clients must use the extension (CARD-1). */
  readonly extensionRequired: boolean;

  /**
   * Resolves to the card for an authenticated caller. Default: there is no
   * extended card.
   */
  readonly extendedCard?:
    | ((call: Pick<A2aV1Call, "agent" | "context">) => Promise<AgentCard>)
    | undefined;

  /**
   * The media types of the agent's answers. Default: text, Markdown and JSON.
   */
  readonly outputModes?: readonly string[] | undefined;

  /**
   * The agents that a tenant can name.
   *
   * Default: there is only one agent, and a tenant is any text.
   */
  readonly agents?: DialectServices["agents"] | undefined;

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
export interface A2aV1Options
  extends A2aServiceOptions,
    Pick<
      DialectServices,
      "maxRequestBytes" | "heartbeats" | "shutdown" | "onError"
    > {}
