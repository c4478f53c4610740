import type { Tool, ToolInvocation } from "../tool.ts";
import type { CheckpointPlace, Checkpoints } from "./checkpoints.ts";

/** Where checkpoints of a tool's work go. */
export interface CheckpointScope {
  readonly checkpoints: Pick<Checkpoints, "snapshot">;
  readonly place: CheckpointPlace;
}

/** The tool, with a checkpoint before each of its calls that changes a file or runs a command. */
export function checkpointedTool(tool: Tool, scope: CheckpointScope): Tool {
  return {
    ...tool,
    prepare: async (args, signal) => checkpointedInvocation(await tool.prepare(args, signal), scope),
  };
}

function checkpointedInvocation(invocation: ToolInvocation, scope: CheckpointScope): ToolInvocation {
  const kind = invocation.confirmation?.case;
  if (kind !== "fileEditDetails" && kind !== "executeDetails") return invocation;
  const { withContent } = invocation;
  return {
    ...invocation,
    ...(withContent && { withContent: (content: string) => checkpointedInvocation(withContent(content), scope) }),
    execute: async function* (signal) {
      await scope.checkpoints.snapshot(scope.place, invocation.description, signal);
      yield* invocation.execute(signal);
    },
  };
}
