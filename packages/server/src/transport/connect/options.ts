import type { ServiceImpl } from "@connectrpc/connect";
import type { A2AService, MessageQueueService } from "@devtool/schema/a2a-v1";
import type { RequestHandler } from "../../handler/request-handler.ts";

/** What the routes need. */
export interface ConnectRoutesOptions {
  readonly handler: RequestHandler;
  /** A request may have so many bytes. */
  readonly maxRequestBytes: number;
  /** Aborts when the server stops: ends the streams that have no end of their own. */
  readonly shutdown: AbortSignal;
  readonly onError: (reason: unknown) => void;
  /** The service of A2A 1.0; without it only ours are served. */
  readonly a2a?: ServiceImpl<typeof A2AService>;
  /** What our server adds to A2A 1.0 for messages that wait; without it, it is not served. */
  readonly queue?: ServiceImpl<typeof MessageQueueService>;
}
