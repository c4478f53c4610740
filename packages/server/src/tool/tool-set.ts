import type { Tool } from "./tool.ts";

/** The tools of one turn, by name; disposing of it gives back what they hold. */
export interface ToolSet extends AsyncDisposable {
  readonly tools: ReadonlyMap<string, Tool>;
}
