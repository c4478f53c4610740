import type { ConfirmationRequest, Task, ToolCall } from "@devtool/schema";

/** What a policy is asked about. */
export interface PolicyRequest {
  /** The call, with the arguments that would run. */
  readonly call: ToolCall;
  /** What the call would ask the user about; unset when it changes nothing. */
  readonly details: ConfirmationRequest["details"] | undefined;
  /** The task, with the answers its user gave so far. */
  readonly task: Task;
}

/** Decides whether a call may run: at once, after asking, or not. */
export interface PolicyEngine {
  decide(request: PolicyRequest): "allow" | "ask" | "deny";
}
