import type { ServiceImpl } from "@connectrpc/connect";
import { BrowserAccessService } from "@devtool/schema";
import type { A2AService, MessageQueueService } from "@devtool/schema/a2a-v1";
import type { SessionService } from "@devtool/schema/codex";
import type { RequestHandler } from "../../handler/request-handler.ts";

/** The path of the one rpc that needs no credentials. */
export const REDEEM_PATH: string = `/${BrowserAccessService.typeName}/${BrowserAccessService.method.redeemAccessCode.name}`;

/** Dependencies of the routes of Connect, gRPC and gRPC-Web. */
export interface ConnectRoutesOptions {
  readonly handler: RequestHandler;

  /** Maximum size of a request message in bytes. */
  readonly maxRequestBytes: number;

  /**
   * Aborts when the server stops, and ends the streams that have no end of
   * their own.
   */
  readonly shutdown: AbortSignal;

  /** Called with each error that is not the client's fault. */
  readonly onError: (reason: unknown) => void;

  /** Lets web browsers in. Default: it is not served. */
  readonly browsers?: ServiceImpl<typeof BrowserAccessService> | undefined;

  /**
   * Loads the services of other clients than ours, with the first request for
   * one of them, or for the reflection of all services.
   */
  readonly loadOtherServices: () => Promise<OtherServices>;
}

/** The services of other clients than ours. */
export interface OtherServices {
  /** The service of A2A 1.0. */
  readonly a2a: ServiceImpl<typeof A2AService>;

  /** Our addition to A2A 1.0 for queued messages. */
  readonly queue: ServiceImpl<typeof MessageQueueService>;

  /** Sessions in the shape of Codex's queues. */
  readonly sessions: ServiceImpl<typeof SessionService>;
}
