import { defined } from "@devtool/internal/json";
import { invalid } from "../../errors.ts";
import {
  ANONYMOUS,
  type Caller,
  OPERATOR,
  type Right,
} from "../../handler/caller.ts";
import { type Authenticator, sourceOf } from "./authenticator.ts";

/** What the callers of a role may do. */
export interface RoleSettings {
  /** The name of the role, or `*` for every caller that authenticates. */
  readonly role: string;
  /** The rights of the callers, one or more. */
  readonly rights: readonly Right[];
  /** The names of the agents that they may use. Default: all. */
  readonly agents?: readonly string[] | undefined;
}

/**
 * Creates an authenticator that gives callers what their roles give, in place
 * of the rights of their credentials. The operator keeps all rights.
 */
export function roleAuthenticator(
  authenticator: Authenticator,
  settings: readonly RoleSettings[],
): Authenticator {
  return {
    async authenticate(request) {
      const verdict = await authenticator.authenticate(request);
      if (verdict.case !== "caller") return verdict;
      const { agents: _agents, source = "", ...known } = verdict.value;
      if ([OPERATOR.principal, ANONYMOUS.principal].includes(known.principal)) {
        return verdict;
      }
      const caller = { ...known, source: rolesSource(source) };
      const value = { ...caller, ...rightsOfRoles(caller.roles, settings) };
      return { case: "caller", value };
    },
  };
}

/** Returns the rights that roles give together, and the agents to use. */
export function rightsOfRoles(
  roles: readonly string[] = [],
  settings: readonly RoleSettings[],
): Pick<Caller, "rights" | "agents"> {
  const own = settings.filter(
    ({ role }) => role === "*" || roles.includes(role),
  );
  const rights = new Set(own.flatMap((each) => each.rights));
  const running = own.filter((each) => each.rights.includes("run"));
  // One role without a list lets its callers use all agents.
  const isAny = running.some(({ agents }) => agents === undefined);
  const agents = new Set(running.flatMap((each) => each.agents ?? []));
  return isAny ? { rights } : { rights, agents };
}

/**
 * Returns the agents that every caller may use, whatever its roles; undefined
 * where no role is limited to some.
 */
export function agentsForAll(
  settings: readonly RoleSettings[] = [],
): ReadonlySet<string> | undefined {
  const isLimited = settings.some(({ agents }) => agents !== undefined);
  return isLimited ? rightsOfRoles([], settings).agents : undefined;
}

/**
 * Returns the source of the rights that roles give to callers of a source. A
 * browser session with such rights ends when no role gives any.
 */
export function rolesSource(source: string): string {
  return sourceOf("roles", source);
}

/** What of the settings of authentication gives rights. */
interface RightsSettings {
  readonly roles?: readonly RoleSettings[] | undefined;
  readonly certificateRights?: readonly Right[] | undefined;
  readonly certificateRolesAttribute?: string | undefined;
  readonly jwt?:
    | {
        readonly approveScope?: string;
        readonly auditScope?: string;
        readonly rolesClaim?: string;
      }
    | undefined;
}

/** Whether the credentials of some callers name roles. */
export function hasRoles({
  jwt,
  certificateRolesAttribute,
}: RightsSettings = {}): boolean {
  return (
    jwt?.rolesClaim !== undefined || certificateRolesAttribute !== undefined
  );
}

/**
 * Throws `Code.InvalidArgument` for roles that say something twice, or that
 * nobody can have.
 *
 * @param served the names of the agents
 */
export function assertUsableRoles(
  {
    roles = [],
    jwt,
    certificateRights = [],
    certificateRolesAttribute,
  }: RightsSettings,
  served: readonly string[],
): void {
  if (roles.length === 0) return;
  const field = "authentication.roles";
  if (
    jwt?.approveScope !== undefined ||
    jwt?.auditScope !== undefined ||
    certificateRights.length > 0
  ) {
    const problem =
      "cannot be used beside approve_scope, audit_scope and certificate_rights";
    throw invalid(field, "", problem, "give these rights to roles");
  }
  const isNamed = hasRoles(defined({ jwt, certificateRolesAttribute }));
  for (const [at, { role, rights, agents = [] }] of roles.entries()) {
    if (role === "") throw invalid(field, role, "has an entry without a role");
    if (roles.findIndex((each) => each.role === role) !== at) {
      throw invalid(field, role, "is there twice", "join the two entries");
    }
    if (rights.length === 0) {
      const remedy = "give one, or leave the role out";
      throw invalid(field, role, "has no rights", remedy);
    }
    if (role !== "*" && !isNamed) {
      const remedy = "set roles_claim or certificate_roles_attribute";
      throw invalid(field, role, "can be nobody's role", remedy);
    }
    const unknown = agents.find((agent) => !served.includes(agent));
    if (unknown === undefined) continue;
    const remedy = `choose ${served.join(", ")}`;
    throw invalid(`${field}.agents`, unknown, "is not served", remedy);
  }
}
