import type { MessageInitShape } from "@bufbuild/protobuf";
import type {
  CheckpointSchema,
  GetWorkspaceSettingsResponseSchema,
  Task,
} from "@devtool/schema";

/**
 * Describes the workspace of a task to the user of the task, for clients that
 * request it (`WorkspaceService`). An error that a method throws is the answer
 * to the client.
 */
export interface AgentWorkspace {
  /**
   * Lists the saved states of the workspace that the command `/restore`
   * restores, the newest first.
   */
  checkpoints(
    task: Task,
    signal: AbortSignal,
  ): Promise<readonly MessageInitShape<typeof CheckpointSchema>[]>;

  /**
   * Describes what decides about the calls of the task. The description must
   * not hold secrets, such as the environment or the headers of an MCP server,
   * which the task has.
   */
  settings(
    task: Task,
    signal: AbortSignal,
  ): Promise<MessageInitShape<typeof GetWorkspaceSettingsResponseSchema>>;
}
