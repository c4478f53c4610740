import { defined } from "@devtool/internal/json";
import type { TraceContext } from "@devtool/schema";
import type { Tool, ToolInvocation } from "../tool.ts";
import type { CheckpointOrigin, Checkpoints } from "./checkpoints.ts";

/**
 * Returns a tool that makes a checkpoint before each call that edits a file or
 * runs a command.
 */
export function withCheckpoints(
  tool: Tool,
  checkpoints: Pick<Checkpoints, "snapshot">,
  origin: CheckpointOrigin,
): Tool {
  const addCheckpoint = (invocation: ToolInvocation): ToolInvocation => {
    const kind = invocation.confirmation?.case;
    if (kind !== "fileEditDetails" && kind !== "executeDetails") {
      return invocation;
    }
    const { withAccess, withContent } = invocation;
    return defined({
      ...invocation,
      withContent:
        withContent &&
        ((content: string) => addCheckpoint(withContent(content))),
      withAccess: withAccess && (() => addCheckpoint(withAccess())),
      execute: async function* (signal: AbortSignal, trace?: TraceContext) {
        await checkpoints.snapshot(origin, invocation.description, signal);
        yield* invocation.execute(signal, trace);
      },
    });
  };
  return {
    ...tool,
    prepare: async (args, signal, pending) =>
      addCheckpoint(await tool.prepare(args, signal, pending)),
  };
}
