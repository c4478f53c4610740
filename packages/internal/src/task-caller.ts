/** For whom the agent of a task works, as policy rules see it. */
export interface TaskCaller {
  /** The authenticated principal, without the tenant that it named. */
  readonly principal: string;
  /** The roles that the caller had when it sent what the agent works on. */
  readonly roles: readonly string[];
  /** The name of the agent. Empty when that is not known. */
  readonly agent: string;
}

/** What a task says about its caller. */
interface CallerFields {
  readonly principal: string;
  readonly sender?: { readonly roles: readonly string[] } | undefined;
  readonly sessionSettings?: { readonly agent: string } | undefined;
}

/** Returns for whom the agent of a task works now. */
export function callerOfTask({
  principal,
  sender,
  sessionSettings,
}: CallerFields): TaskCaller {
  return {
    // Callers choose their tenants, so no rule may depend on one.
    principal: principal.replace(/^tenant:[^:]*:/, ""),
    roles: sender?.roles ?? [],
    agent: sessionSettings?.agent ?? "",
  };
}
