import type { Task } from "@devtool/schema";
import type { Memory } from "../agent/memory.ts";
import type { Model } from "../agent/model.ts";
import type { TrustKeeper } from "../trust/trust.ts";
import type { CommandContext, CommandPlace } from "./slash-command.ts";

/** What built-in commands work with. A command whose service is not there is not offered. */
export interface CommandServices {
  /** The version of this server. */
  readonly version: string;
  /** The name of its model. */
  readonly model: string;
  /** A model that understands prose, for commands that need one; undefined for the scripted one. */
  readonly prose?: Model;
  /** Reads the memory for a workspace. */
  readonly loadMemory?: (workspacePath: string) => Promise<Memory>;
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
  /** The checkpoints of a workspace, the latest first. */
  list(workspacePath: string, signal: AbortSignal): Promise<readonly Checkpoint[]>;
  /** Brings the files of a workspace to where a checkpoint has them. Gives the paths that changed. Throws `Code.NotFound`. */
  restore(workspacePath: string, id: string, signal: AbortSignal): Promise<readonly string[]>;
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

/** How one MCP server does. */
export interface McpServerStatus {
  readonly name: string;
  /** For instance `ready`, `connecting`, `failed`. */
  readonly state: string;
  /** Why it is not ready; empty when it is. */
  readonly reason: string;
  readonly toolCount: number;
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
