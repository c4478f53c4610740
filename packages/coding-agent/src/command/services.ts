import type { Task } from "@devtool/schema";
import type { CommandContext, CommandPlace } from "@devtool/server/agent";
import type { Memory } from "../agent/memory.ts";
import type { Model } from "../agent/model.ts";
import type { RestorePreview } from "../tool/checkpoint/checkpoints.ts";
import type { McpServerStatus } from "../tool/mcp.ts";
import type { TrustKeeper } from "../trust/trust.ts";

/** What built-in commands work with. A command whose service is not there is not offered. */
export interface CommandServices {
  /** The version of this server. */
  readonly version: string;
  /** The name of its model. */
  readonly model: string;
  /** A model that understands prose, for commands that need one; undefined for the scripted one. */
  readonly prose?: Model;
  /** Reads what agents of a principal are told of a workspace. */
  readonly loadMemory?: (place: CommandPlace) => Promise<Memory>;
  /** The principal whose trust the server keeps: it follows what they approve. Default: it follows nobody. */
  readonly operator?: string;
  /** Whose configuration is used. */
  readonly trust?: TrustKeeper;
  readonly conversations?: Conversations;
  readonly checkpoints?: Checkpoints;
  readonly mcp?: McpStatus;
  readonly policies?: Policies;
}

/** The conversations that commands are typed in. */
export interface Conversations {
  /** The task that the messages of the context go to: the latest that a message opened. Undefined when there is none. */
  find(context: CommandContext): Promise<Task | undefined>;
  /**
   * Puts a summary in place of the older history of a task. Gives how many messages it stands for; 0 when there was
   * nothing to gain. Throws `Code.FailedPrecondition` while the task is at work.
   */
  compress(taskId: string, signal: AbortSignal): Promise<number>;
}

/** States of workspaces to go back to. */
export interface Checkpoints {
  /** A principal's checkpoints of a workspace, the latest first. */
  list(place: CommandPlace, signal: AbortSignal): Promise<readonly Checkpoint[]>;
  /** What going back to a checkpoint would change now. Throws `Code.NotFound`. */
  preview(place: CommandPlace, id: string, signal: AbortSignal): Promise<RestorePreview>;
  /**
   * Brings the files of a workspace to where a checkpoint has them. Gives a line for each. Throws `Code.NotFound`, and `Code.Aborted`
   * when other files would change than the preview has.
   */
  restore(place: CommandPlace, shown: RestorePreview, signal: AbortSignal): Promise<readonly string[]>;
}

/** One state of a workspace. */
export interface Checkpoint {
  readonly id: string;
  readonly time: Date;
  /** What was about to happen when it was made, in a line. */
  readonly label: string;
}

/** The MCP servers of a workspace, as each principal has them. */
export interface McpStatus {
  list(place: CommandPlace, signal: AbortSignal): Promise<readonly McpServerStatus[]>;
  /** Connects anew to the servers that are not connected and reads the tools of all. */
  refresh(place: CommandPlace, signal: AbortSignal): Promise<void>;
}

/** The rules that decide on tool calls. */
export interface Policies {
  /** The rules, those that are asked first before the others. */
  list(context: CommandContext): Promise<readonly PolicyRule[]>;
}

/** One rule, for a person. */
export interface PolicyRule {
  /** Where it is written, for instance `user/policy.toml:3`. */
  readonly name: string;
  readonly decision: "allow" | "ask" | "deny";
  /** What it is about, in a line. */
  readonly description: string;
}
