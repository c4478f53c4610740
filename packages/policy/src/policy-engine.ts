import type { ConfirmationRequest, Task, ToolCall } from "@devtool/schema";

/**
 * Facts about a tool, besides its name, that a policy may use.
 *
 * The tool itself declares `annotations`; the agent determines everything else.
 */
export interface ToolFacts {
  /**
   * The name of the MCP server that offers the tool; undefined for the agent's
   * own tools.
   */
  readonly mcpServer?: string;
  /**
   * The SHA-256, in hex, of where the MCP server is: its URL, or its command
   * line and directory.
   *
   * Approvals bind to it, because another server can appear under the same
   * name.
   */
  readonly mcpServerHash?: string;
  /**
   * Whether a rule that allows calls by the name may mean another one: a client
   * brings the MCP server under the name of a server that the operator gives to
   * other callers, or a file of the repository brings the agent that the tool
   * calls. Such a rule does not apply. Default: false.
   */
  readonly isNamesake?: boolean;
  /**
   * The SHA-256, in hex, of the name, description and parameters that the MCP
   * server gave for the tool.
   *
   * Approvals bind to it, because a server can change what a tool does under
   * the same name.
   */
  readonly definitionHash?: string;
  /**
   * The hints that the tool gives about itself, by their MCP names
   * (`readOnlyHint`, `destructiveHint`, …). They are claims.
   */
  readonly annotations?: Readonly<Record<string, boolean>>;
}

/**
 * A tool call that a policy decides about.
 *
 * `callRequest` creates one for agents that do not use the messages of
 * `@devtool/schema`.
 */
export interface PolicyRequest {
  /** The call, with the arguments that it would run with. */
  readonly call: ToolCall;
  /** What is known about the tool; undefined when only its name is. */
  readonly facts: ToolFacts | undefined;
  /**
   * What the user would be asked to confirm; undefined for a call that changes
   * nothing.
   */
  readonly details: ConfirmationRequest["details"] | undefined;
  /**
   * The files that the call changes besides those that its arguments name,
   * relative to the workspace.
   *
   * Default: none.
   */
  readonly changes?: readonly string[] | undefined;
  /**
   * `"none"` when the call runs without a sandbox. Default: the call is
   * confined, or runs no program.
   */
  readonly confinement?: "none" | undefined;
  /**
   * The task that the call belongs to, with the answers that its user has
   * given. Default: no answers.
   */
  readonly task?: Task;
}

/**
 * The label of the built-in rule that allows commands which only read.
 *
 * A command that this rule allows must run in a sandbox that lets it read only.
 */
export const READS_ONLY = "builtin:reads-only";

/** The decision of a policy about one call. */
export interface PolicyDecision {
  /**
   * `allow` runs the call at once. `ask` runs it after the user agreed. `deny`
   * does not run it, and the user is not asked.
   */
  readonly decision: "allow" | "ask" | "deny";
  /**
   * The label of the rule that decided, for instance `policy.toml:3`; empty
   * when no rule did.
   *
   * Labels of built-in rules begin with `builtin:`. For a tool of an MCP server
   * the label ends with the server and the hashes in `ToolFacts`. Keep it as
   * `ToolCallDetail.rule` in the task: the user's answers bind to it.
   */
  readonly rule: string;
  /** Why the call asks or is denied, for a person; may be empty. */
  readonly reason: string;
  /**
   * What an approval for good would cover, for a person; undefined when the
   * call can only be approved once.
   */
  readonly saves?: string | undefined;
}

/**
 * Decides whether a tool call runs at once, runs after the user agreed, or does
 * not run.
 *
 * The rules of a session are behind it, so a new session gets a new engine.
 */
export interface PolicyEngine {
  /**
   * Decides about a call. Rejects with the signal's reason when the signal
   * aborts, and with the storage's error when saved approvals cannot be read
   * from a database.
   */
  decide(request: PolicyRequest, signal: AbortSignal): Promise<PolicyDecision>;
  /**
   * Saves an approval for good: from then on the same call runs without a
   * question, in every session.
   *
   * Undefined when this engine cannot save approvals. Rejects with a
   * `PolicyError`: `cannot-save` when this call can only be approved once,
   * `not-written` when the file cannot be written.
   */
  save?(request: PolicyRequest, signal: AbortSignal): Promise<void>;
}
