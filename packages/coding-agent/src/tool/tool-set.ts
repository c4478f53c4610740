import type { EditRecord } from "@devtool/schema";
import type { EditState, Tool } from "./tool.ts";

/** The tools of one turn. Disposing of the set releases the resources that they share, such as the open workspace. */
export interface ToolSet extends AsyncDisposable {
  /** The tools by name. */
  readonly tools: ReadonlyMap<string, Tool>;
  /** Returns whether an edit that was in progress when the server stopped was made, judged by the file's content. */
  settle(edit: EditRecord): EditState;
}
