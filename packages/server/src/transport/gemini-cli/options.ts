import type { RequestHandler } from "../../handler/request-handler.ts";
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
