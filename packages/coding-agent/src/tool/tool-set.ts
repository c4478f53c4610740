import type { EditRecord } from "@devtool/schema";
import type { EditState, Tool } from "./tool.ts";

/** The tools of one turn, by name; disposing of it gives back what they hold. */
export interface ToolSet extends AsyncDisposable {
  readonly tools: ReadonlyMap<string, Tool>;
  /** Finds out what became of an edit that had begun when the server stopped. */
  settle(edit: EditRecord): EditState;
}
