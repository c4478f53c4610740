import type { JSONObject } from "@modelcontextprotocol/server";
import type { z } from "zod";
import type { Editor } from "../editor.ts";
import type { EditorContext } from "../gen/devtool/ide/v1alpha/context_pb.ts";
import type { DiffOwner, OpenDiffs } from "../open-diffs.ts";

/** How agents of one kind talk to a companion, over MCP. */
export interface Dialect {
  /** The name of the MCP server. */
  readonly serverName: string;
  readonly tools: readonly DialectTool[];
  /** What tells the context; undefined when there is nothing to tell. */
  contextNotice(context: EditorContext): Notice | undefined;
}

/** A notification to a client. */
export interface Notice {
  readonly method: string;
  readonly params: JSONObject;
}

/** A tool for an agent. */
export interface DialectTool {
  readonly name: string;
  readonly description: string;
  readonly input: z.ZodObject;
  /**
   * Returns the texts of the result. Throws an `IdeError` for a result that is
   * an error.
   */
  run(input: unknown, call: ToolCall): Promise<readonly string[]>;
}

/** What a tool works with. */
export interface ToolCall {
  readonly editor: Editor;
  readonly diffs: OpenDiffs;
  /** The session that calls. */
  readonly owner: DiffOwner;
  /** Tells the client something later. */
  notify(notice: Notice): void;
  /** Aborts when the client cancels the call or is gone. */
  readonly callSignal: AbortSignal;
  /** Aborts when the client is gone. */
  readonly sessionSignal: AbortSignal;
}

/** A tool whose input has the type that its schema reads. */
export function dialectTool<Shape extends z.ZodObject>(tool: {
  readonly name: string;
  readonly description: string;
  readonly input: Shape;
  run(input: z.output<Shape>, call: ToolCall): Promise<readonly string[]>;
}): DialectTool {
  const { input, run } = tool;
  return {
    ...tool,
    run: (value, call) => run(input.parse(value), call),
  };
}
