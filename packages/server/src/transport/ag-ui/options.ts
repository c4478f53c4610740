import type { RequestHandler } from "../../handler/request-handler.ts";
import type { Heartbeats } from "../http/heartbeats.ts";
import type { ThreadTurns } from "./thread.ts";

/** Dependencies of the routes of AG-UI. */
export interface AgUiRoutesOptions {
  readonly handler: RequestHandler;

  /**
   * The agent that the routes belong to. Default: the one that a thread has, or
   * that a run names.
   */
  readonly agent?: string | undefined;

  /** The turns in the threads of all such routes of a server. */
  readonly turns: ThreadTurns;

  /** Maximum size of a request body in bytes. */
  readonly maxRequestBytes: number;

  /** Sends the keep-alive comments of all streams. */
  readonly heartbeats: Heartbeats;

  /** Aborts when the server stops. */
  readonly shutdown: AbortSignal;

  /** Called with each error that is not the client's fault. */
  readonly onError: (reason: unknown) => void;
}
