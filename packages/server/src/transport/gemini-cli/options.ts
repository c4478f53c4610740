import type { RequestHandler } from "../../handler/request-handler.ts";
import type { GeminiCliTasks } from "./gemini-cli-tasks.ts";

/** Dependencies of `GeminiCliService`. */
export interface GeminiCliServiceOptions {
  readonly handler: RequestHandler;
  readonly tasks: GeminiCliTasks;
  /** The media types of what the agent answers with; by default those of our own. */
  readonly outputModes?: readonly string[];
}
