import type { DialectServices } from "../dialect.ts";
import type { RoutedCall } from "../http/routed-call.ts";
import type { GeminiCliTasks } from "./gemini-cli-tasks.ts";

/** One request to a route of the dialect, with everything that answers it. */
export interface Visit extends RoutedCall, DialectServices {
  readonly geminiCli: GeminiCliTasks;

  readonly principal: string;
}
