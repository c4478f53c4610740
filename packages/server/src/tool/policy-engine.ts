import type { ConfirmationRequest, Task, ToolCall } from "@devtool/schema";
import type { ToolFacts } from "./tool.ts";

/** What a policy is asked about. */
export interface PolicyRequest {
  /** The call, with the arguments that would run. */
  readonly call: ToolCall;
  /** What is known of its tool beside the name. */
  readonly facts: ToolFacts | undefined;
  /** What the call would ask the user about; unset when it changes nothing. */
  readonly details: ConfirmationRequest["details"] | undefined;
  /** The task, with the answers its user gave so far. */
  readonly task: Task;
}

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
