import type { Task } from "@devtool/schema";
import type {
  AgentConversations,
  CommandContext,
  CommandPlace,
} from "@devtool/server/agent";
import type { Memory } from "../agent/memory.ts";
import type { AgentModel, StepRequest } from "../agent/model.ts";
import type { StoredCheckpoints } from "../tool/checkpoint/checkpoints.ts";
import type { IdeConnection } from "../tool/ide.ts";
import type { McpServerStatus } from "../tool/mcp.ts";
import type { TrustKeeper } from "../trust/trust.ts";

/**
 * Dependencies of the built-in commands. A command is available only if its
 * service is present.
 */
export interface CommandServices {
  /** The version of the server, for `/about`. */
  readonly version: string;
  /** The name of the model, for `/about`. */
  readonly model: string;
  /**
   * A model that understands prose, for `/init`. Undefined for the scripted
   * model.
   */
  readonly prose?: AgentModel | undefined;
  /**
   * Reads the memory files that apply to a workspace and principal, for
   * `/memory`.
   */
  readonly loadMemory?: (place: CommandPlace) => Promise<Memory>;
  /**
   * The principal who owns the trust of workspaces.
   *
   * Trust follows the changes of memory files that this principal approves.
   * Default: it follows no change.
   */
  readonly operator?: string;
  /**
   * The trust of workspaces. With it, `/memory add` says whether the agent will
   * read what was added.
   */
  readonly trust?: TrustKeeper;
  /** For `/compress`, `/cost`, `/plan` and `/stats`. */
  readonly conversations?: Conversations;
  /** For `/restore`. */
  readonly checkpoints?: StoredCheckpoints | undefined;
  /** For `/mcp`. */
  readonly mcp?: McpStatus;
  /** For `/ide`. */
  readonly ide?: IdeSession | undefined;
  /** For `/policies`. */
  readonly policies?: Policies;
}

/** The conversations in which commands are sent. */
export interface Conversations
  extends Pick<AgentConversations, "tasks" | "spending"> {
  /**
   * Returns the latest task that a message opened in the context. Undefined
   * when there is none.
   */
  find(context: CommandContext): Promise<Task | undefined>;
  /**
   * Replaces the older history of a task by a summary, for the turn of the
   * command that `request` is a step of.
   *
   * Returns the number of messages that the summary replaces, or 0 when a
   * summary would not be shorter. Throws `Code.FailedPrecondition` while the
   * task is working.
   */
  compress(
    taskId: string,
    request: StepRequest,
    signal: AbortSignal,
  ): Promise<number>;
}

/**
 * The state of the MCP servers of a workspace, separately for each principal.
 */
export interface McpStatus {
  list(
    place: CommandPlace,
    signal: AbortSignal,
  ): Promise<readonly McpServerStatus[]>;
  /** Stops all servers, clears their failures and connects again. */
  refresh(place: CommandPlace, signal: AbortSignal): Promise<void>;
}

/** The user's editor in a session. */
export interface IdeSession {
  /**
   * Returns why the principal of a session has no editor; undefined for the user
   * whose editors they are.
   */
  refusal(context: CommandContext): string | undefined;
  /** Returns the editor of a session, or why there is none. */
  connect(context: CommandContext, signal: AbortSignal): Promise<IdeConnection>;
  /**
   * Turns the editor of a session on or off, for good. Turned off, it closes
   * the diffs of the session.
   */
  turn(context: CommandContext, to: "on" | "off"): Promise<void>;
}

/** The rules that decide on tool calls. */
export interface Policies {
  /** Lists the rules in the order in which they are evaluated. */
  list(context: CommandContext): Promise<readonly PolicyRule[]>;
}

/** A description of one rule for a user. */
export interface PolicyRule {
  /** The place where the rule is defined, for instance `policy.toml:3`. */
  readonly name: string;
  readonly decision: "allow" | "ask" | "deny";
  /** One line that describes the calls that the rule matches. */
  readonly description: string;
}
