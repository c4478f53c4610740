import { type ContextKey, createContextKey, type HandlerContext } from "@connectrpc/connect";
import { Code, DevtoolError } from "../errors.ts";

/** What not everybody who is let in may do: answer what tools ask, and read what everybody did. */
export type Right = "approve" | "audit";

/** Who calls. */
export interface Caller {
  /** Identifies the caller over all connections and credentials: what they made belongs to this. */
  readonly principal: string;
  readonly rights: ReadonlySet<Right>;
}

/** Whoever holds the operator's token: may do everything. */
export const OPERATOR: Caller = { principal: "local", rights: new Set(["approve", "audit"]) };

const NOBODY: Caller = { principal: "", rights: new Set() };

/** Who calls, put into the context values of a call by its transport; a call without it is nobody's and is refused. */
export const callerKey: ContextKey<Caller> = createContextKey(NOBODY, { description: "caller" });

/** The principal of a call. Throws `Code.Unauthenticated` when its transport named none. */
export function principalOf(context: HandlerContext): string {
  const { principal } = context.values.get(callerKey);
  if (principal !== "") return principal;
  throw new DevtoolError("caller: nobody was authenticated: send credentials", Code.Unauthenticated);
}

/** Throws `Code.PermissionDenied` when the caller has not the right. */
export function assertRight(context: HandlerContext, right: Right): void {
  if (context.values.get(callerKey).rights.has(right)) return;
  throw new DevtoolError(
    `right "${right}" is missing: use credentials that have it, or the operator's token`,
    Code.PermissionDenied,
  );
}
