import { create } from "@bufbuild/protobuf";
import {
  type ContextKey,
  type ContextValues,
  createContextKey,
  createContextValues,
  type HandlerContext,
} from "@connectrpc/connect";
import { type Sender, SenderSchema } from "@devtool/schema";
import { Code, DevtoolError, quoted } from "../errors.ts";
import { agentKey } from "./addressed-agent.ts";
import { newTaskIdKey, principalKey } from "./request-handler.ts";

/**
 * A right of callers: to see one's own tasks, to send messages to agents, to
 * approve tool calls, to read the audit log of all principals, to list the tasks
 * of all, or to register agents elsewhere. `run` includes `read`.
 */
export type Right =
  | "read"
  | "run"
  | "approve"
  | "audit"
  | "list_all"
  | "register";

/** The authenticated caller of a request. */
export interface Caller {
  /**
   * Identifies the caller over all connections and credentials. Tasks belong to
   * it.
   */
  readonly principal: string;
  readonly rights: ReadonlySet<Right>;
  /**
   * The roles that the credentials name, sorted: policy rules decide by them.
   * Default: none.
   */
  readonly roles?: readonly string[];
  /** The tier of the caller's subscription, for clients. Default: none. */
  readonly userTier?: string;
  /** The names of the agents that the caller may use. Default: all. */
  readonly agents?: ReadonlySet<string>;
  /**
   * The id of the browser session that the caller uses. Default: other
   * credentials.
   */
  readonly browserSession?: string;
  /**
   * When the credentials expire, in milliseconds since 1970: no session that
   * comes of them lasts longer. Default: never.
   */
  readonly expireMs?: number;
  /**
   * Identifies what accepts the credentials: a digest of the operator's token,
   * or of the settings of an issuer or of client certificates. No session
   * outlasts it. Default: empty, which no server accepts after a restart.
   */
  readonly source?: string;
}

/** The operator, who holds the server's token and has all rights. */
export const OPERATOR: Caller = {
  principal: "local",
  rights: new Set(["read", "run", "approve", "audit", "list_all", "register"]),
};

/** The rights of every caller where the operator lists no roles. */
export const COMMON_RIGHTS: readonly Right[] = ["read", "run"];

/**
 * All callers without credentials, where the operator admits them: one
 * principal without special rights.
 */
export const ANONYMOUS: Caller = {
  principal: "anonymous",
  rights: new Set(COMMON_RIGHTS),
};

/** The context key of the caller's rights. Default: those of all callers. */
export const rightsKey: ContextKey<ReadonlySet<Right>> = createContextKey<
  ReadonlySet<Right>
>(new Set(COMMON_RIGHTS), { description: "rights" });

/** The context key of the caller's roles. Default: none. */
export const rolesKey: ContextKey<readonly string[]> = createContextKey<
  readonly string[]
>([], { description: "roles" });

/** The context key of the caller's tier; empty for none. */
export const userTierKey: ContextKey<string> = createContextKey("", {
  description: "user tier",
});

/**
 * The context key of the agents that the caller may use. Default: all.
 */
export const agentsKey: ContextKey<ReadonlySet<string> | undefined> =
  createContextKey<ReadonlySet<string> | undefined>(undefined, {
    description: "agents",
  });

/**
 * The context key of the caller's browser session; empty for other credentials.
 */
export const browserSessionKey: ContextKey<string> = createContextKey("", {
  description: "browser session",
});

/**
 * The context key of the time when the caller's credentials expire, in
 * milliseconds since 1970.
 */
export const credentialsExpireMsKey: ContextKey<number> = createContextKey(
  Number.POSITIVE_INFINITY,
  {
    description: "expiry of credentials",
  },
);

/**
 * The context key of what accepts the caller's credentials; empty when that is
 * not known.
 */
export const credentialSourceKey: ContextKey<string> = createContextKey("", {
  description: "source of credentials",
});

/**
 * The context key of the tenant that a call is made for; empty for none. Each
 * tenant of a caller has tasks of its own.
 */
const tenantKey: ContextKey<string> = createContextKey("", {
  description: "tenant",
});

/**
 * The context key of the protocol of a call, as `Operation.binding` has it.
 * Empty for Connect's own.
 */
export const bindingKey: ContextKey<string> = createContextKey("", {
  description: "binding",
});

/** The context keys of a call that a dialect may set; all are empty by default. */
export const callKeys: {
  /** The agent that the call is addressed to. */
  readonly agent: ContextKey<string>;
  /** The tenant that it is made for. */
  readonly tenant: ContextKey<string>;
  /** The id of the task that its message creates, if it creates one. */
  readonly newTaskId: ContextKey<string>;
  /** The protocol, as observers and logs name it. */
  readonly binding: ContextKey<string>;
} = {
  agent: agentKey,
  tenant: tenantKey,
  newTaskId: newTaskIdKey,
  binding: bindingKey,
};

/**
 * Creates the context values of a call with its caller and the caller's rights.
 */
export function contextValuesFor({
  principal,
  rights,
  roles = [],
  userTier = "",
  agents,
  browserSession = "",
  expireMs = Number.POSITIVE_INFINITY,
  source = "",
}: Caller): ContextValues {
  return createContextValues()
    .set(principalKey, principal)
    .set(rightsKey, rights)
    .set(rolesKey, roles)
    .set(userTierKey, userTier)
    .set(agentsKey, agents)
    .set(browserSessionKey, browserSession)
    .set(credentialsExpireMsKey, expireMs)
    .set(credentialSourceKey, source);
}

/**
 * Returns the principal that the tasks of a call belong to: the caller, or the
 * caller in a tenant. Throws `Code.Unauthenticated` when the call has no
 * caller.
 */
export function principalOf(context: HandlerContext): string {
  const tenant = context.values.get(tenantKey);
  return tenant === ""
    ? callerOf(context)
    : `tenant:${encodeURIComponent(tenant)}:${callerOf(context)}`;
}

/** Who sends a message or a slash command. */
export interface SendingCaller {
  /** The principal that the task belongs to. */
  readonly principal: string;
  /** What is recorded of the sender beside it; undefined for nothing. */
  readonly sender?: Sender | undefined;
  /** The names of the agents that it may use. Default: all. */
  readonly agents?: ReadonlySet<string> | undefined;
}

/** Returns who sends the message or the command of a call. */
export function sendingCaller(context: HandlerContext): SendingCaller {
  const roles = [...context.values.get(rolesKey)];
  const userTier = context.values.get(userTierKey);
  const isKnown = roles.length > 0 || userTier !== "";
  return {
    principal: principalOf(context),
    sender: isKnown ? create(SenderSchema, { roles, userTier }) : undefined,
    agents: context.values.get(agentsKey),
  };
}

/**
 * Returns the caller of a call without its tenant. Throws
 * `Code.Unauthenticated` when the call has no caller.
 */
export function callerOf(context: HandlerContext): string {
  const principal = context.values.get(principalKey);
  if (principal !== "") return principal;
  throw new DevtoolError(
    "caller: the request is not authenticated",
    Code.Unauthenticated,
    {
      remedy: "send credentials",
    },
  );
}

/** Throws `Code.Unauthenticated` for an anonymous caller. */
export function assertKnown(context: HandlerContext): void {
  if (callerOf(context) !== ANONYMOUS.principal) return;
  throw new DevtoolError(
    "caller: anonymous callers are not permitted",
    Code.Unauthenticated,
    {
      remedy: "send credentials",
    },
  );
}

/** Whether the caller of a call holds the operator's token. */
export function isOperator(context: HandlerContext): boolean {
  return (
    callerOf(context) === OPERATOR.principal &&
    context.values.get(browserSessionKey) === ""
  );
}

/**
 * Throws `Code.PermissionDenied` for all but the holder of the operator's
 * token.
 */
export function assertOperator(context: HandlerContext): void {
  if (isOperator(context)) return;
  const problem = "only the operator may do this";
  const remedy = "use the operator's token";
  throw new DevtoolError(problem, Code.PermissionDenied, { remedy });
}

/** Throws `Code.PermissionDenied` when the caller does not have a right. */
export function assertRight(context: HandlerContext, right: Right): void {
  const rights = context.values.get(rightsKey);
  if (rights.has(right) || (right === "read" && rights.has("run"))) return;
  const isCommon = COMMON_RIGHTS.includes(right);
  if (isCommon) callerOf(context);
  throw new DevtoolError(`right "${right}" is missing`, Code.PermissionDenied, {
    remedy: isCommon
      ? "have the operator give it to one of your roles (authentication.roles)"
      : "use credentials that have it, or the operator's token",
  });
}

/**
 * Throws `Code.PermissionDenied` when a caller may not use an agent.
 *
 * @param agent its name; empty for one without a name
 */
export function assertMayUse(
  agent: string,
  { agents }: Pick<SendingCaller, "agents">,
): void {
  if (agent === "" || (agents?.has(agent) ?? true)) return;
  throw new DevtoolError(
    `agent ${quoted(agent)} is not permitted to your roles`,
    Code.PermissionDenied,
    {
      details: { field: "session_settings.agent", value: agent },
      remedy: `choose ${[...(agents ?? [])].join(", ")}, or have the operator add it (authentication.roles)`,
    },
  );
}
