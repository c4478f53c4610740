import {
  type ContextKey,
  type ContextValues,
  createContextKey,
  createContextValues,
  type HandlerContext,
} from "@connectrpc/connect";
import { Code, DevtoolError } from "../errors.ts";
import { principalKey } from "./request-handler.ts";

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

const NONE: ReadonlySet<Right> = new Set();

/** Whoever sends no credentials, where the operator lets them in: all of them are one principal, which may nothing special. */
export const ANONYMOUS: Caller = { principal: "anonymous", rights: NONE };

/** What the caller may, put into the context values of a call beside the principal; a call without it may nothing. */
export const rightsKey: ContextKey<ReadonlySet<Right>> = createContextKey(NONE, { description: "rights" });

/** The context values of a call that a caller makes. */
export function contextValuesFor({ principal, rights }: Caller): ContextValues {
  return createContextValues().set(principalKey, principal).set(rightsKey, rights);
}

/** The tenant that a call is made for; empty for none. Each tenant of a caller has tasks of its own. */
export const tenantKey: ContextKey<string> = createContextKey("", { description: "tenant" });

/**
 * The principal that the tasks of a call belong to: the caller, or the caller in a tenant. Throws `Code.Unauthenticated`
 * when its transport named no caller.
 */
export function principalOf(context: HandlerContext): string {
  const tenant = context.values.get(tenantKey);
  return tenant === "" ? callerOf(context) : `tenant:${encodeURIComponent(tenant)}:${callerOf(context)}`;
}

/** Who makes a call, whatever tenant it is for. Throws `Code.Unauthenticated` when its transport named no caller. */
export function callerOf(context: HandlerContext): string {
  const principal = context.values.get(principalKey);
  if (principal !== "") return principal;
  throw new DevtoolError("caller: nobody was authenticated", Code.Unauthenticated, { remedy: "send credentials" });
}

/** Throws `Code.Unauthenticated` when the caller is nobody that we know. */
export function assertKnown(context: HandlerContext): void {
  if (callerOf(context) !== ANONYMOUS.principal) return;
  throw new DevtoolError("caller: this is for callers that are known", Code.Unauthenticated, {
    remedy: "send credentials",
  });
}

/** Throws `Code.PermissionDenied` when the caller has not the right. */
export function assertRight(context: HandlerContext, right: Right): void {
  if (context.values.get(rightsKey).has(right)) return;
  throw new DevtoolError(`right "${right}" is missing`, Code.PermissionDenied, {
    remedy: "use credentials that have it, or the operator's token",
  });
}
