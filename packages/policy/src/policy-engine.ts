import type { ConfirmationRequest, Task, ToolCall } from "@devtool/schema";

/** What a policy may know of a tool beside its name. */
export interface ToolFacts {
  /** The MCP server that the tool belongs to; undefined for the agent's own. */
  readonly mcpServer?: string;
  /** The SHA-256, in hex, of where that server is: another one can have the same name, and grants bind to this one. */
  readonly mcpServerHash?: string;
  /** The SHA-256, in hex, of name, description and parameters as the MCP server gave them: grants bind to it. */
  readonly definitionHash?: string;
  /** What the tool says of itself, as MCP names it (`readOnlyHint`, `destructiveHint`, …): a claim, not a fact. */
  readonly annotations?: Readonly<Record<string, boolean>>;
}

/** What a policy is asked about. */
export interface PolicyRequest {
  /** The call, with the arguments that would run. */
  readonly call: ToolCall;
  /** What is known of its tool beside the name. */
  readonly facts: ToolFacts | undefined;
  /** What the call would ask the user about; unset when it changes nothing. */
  readonly details: ConfirmationRequest["details"] | undefined;
  /** The files that the call would change beside those that it names, relative to the workspace. */
  readonly changes?: readonly string[] | undefined;
  /** Set when nothing confines what the call runs. */
  readonly confinement?: "none" | undefined;
  /** The task, with the answers its user gave so far. Default: none were given. */
  readonly task?: Task;
}

/** The rule by which a command runs because it only reads: it must then be confined to reading. */
export const READS_ONLY = "builtin:reads-only";

/** What a policy says of a call. */
export interface PolicyDecision {
  readonly decision: "allow" | "ask" | "deny";
  /** The rule that decided, for instance `user/policy.toml:3`; empty when none did. */
  readonly rule: string;
  /** Why it asks or is denied, for a person; empty when it needs no words. */
  readonly reason: string;
  /** What an approval for good would cover, for a person. Left out when there can be none. */
  readonly saves?: string;
}

/** Decides whether a call may run: at once, after asking, or not. */
export interface PolicyEngine {
  decide(request: PolicyRequest, signal: AbortSignal): Promise<PolicyDecision>;
  /** Keeps an approval for good: calls like this one run from now on, in every session. */
  save?(request: PolicyRequest, signal: AbortSignal): Promise<void>;
}
