import type { Task } from "./gen/devtool/v1alpha/task_pb.ts";

/** For whom an agent works, as policy rules see it. */
export interface TaskCaller {
  /** The authenticated principal, without the tenant that it named. */
  readonly principal: string;
  /** The roles that the caller had when it sent what the agent works on. */
  readonly roles: readonly string[];
  /** The name of the agent. Empty when that is not known. */
  readonly agent: string;
}

/** Returns for whom the agent of a task works now. */
export function callerOfTask({
  principal,
  sender,
  sessionSettings,
}: Pick<Task, "principal" | "sender" | "sessionSettings">): TaskCaller {
  return {
    principal: withoutTenant(principal),
    roles: sender?.roles ?? [],
    agent: sessionSettings?.agent ?? "",
  };
}

/**
 * Returns the caller behind the principal of a task. Callers choose their
 * tenants, so no rule about a caller may depend on one.
 */
function withoutTenant(principal: string): string {
  return principal.replace(/^tenant:[^:]*:/, "");
}
