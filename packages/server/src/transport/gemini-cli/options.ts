import type { RequestHandler } from "../../handler/request-handler.ts";
import type { Heartbeats } from "../http/heartbeats.ts";
import type { GeminiCliTasks } from "./gemini-cli-tasks.ts";

/** Dependencies of `GeminiCliService`. */
export interface GeminiCliServiceOptions {
  readonly handler: RequestHandler;

  readonly tasks: GeminiCliTasks;

  /**
   * The media types of the agent's answers. Default: text, Markdown and JSON.
   */
  readonly outputModes?: readonly string[] | undefined;
}

/** Dependencies of the routes of the dialect. */
export interface GeminiCliRoutesOptions {
  readonly handler: RequestHandler;

  /** The tasks of the dialect, which JSON-RPC shares. */
  readonly geminiCli: GeminiCliTasks;

  /** Maximum size of a request body in bytes. */
  readonly maxRequestBytes: number;

  /** Sends the keep-alive comments of all streams. */
  readonly heartbeats: Heartbeats;

  /** Aborts when the server stops. */
  readonly shutdown: AbortSignal;

  /** Called with each error that is not the client's fault. */
  readonly onError: (reason: unknown) => void;
}
