import type { RequestHandler } from "../../handler/request-handler.ts";
import type { MethodDialect } from "../a2a/method.ts";
import type { DialectServices } from "../dialect.ts";
import type { JsonRpcDialect } from "../http/json-rpc-endpoint.ts";
import type { CardOptions } from "./card.ts";

/** Dependencies of the service of A2A 0.3. */
export interface A2aV03ServiceOptions extends CardOptions {
  readonly handler: RequestHandler;

  /** The URL at which clients reach the agent, without a trailing slash. */
  readonly baseUrl: string;
}

/** Dependencies of the routes of A2A 0.3. */
export interface A2aV03RoutesOptions
  extends A2aV03ServiceOptions,
    Pick<
      DialectServices,
      "agent" | "maxRequestBytes" | "heartbeats" | "shutdown" | "onError"
    > {
  /**
   * The other versions of A2A at the same JSON-RPC endpoint.
   *
   * They are asked before A2A 0.3, which takes every request. Default: none.
   */
  readonly otherVersions?: readonly JsonRpcDialect[];

  /**
   * The dialects of A2A 0.3. Each answers the calls that it takes. Default:
   * none.
   */
  readonly dialects?: readonly MethodDialect[];
}
